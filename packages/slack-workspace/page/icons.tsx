import type { ComponentChildren } from 'preact';

/* Icons in the color of their text. */

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {children}
    </svg>
  );
}

export const BubbleIcon = () => (
  <Icon>
    <path d="M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z" />
  </Icon>
);

export const ClockIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="6" />
    <path d="M8 4.5V8l2.5 1.5" />
  </Icon>
);

export const CloseIcon = () => (
  <Icon>
    <path d="m4 4 8 8m0-8-8 8" />
  </Icon>
);

export const EyeIcon = () => (
  <Icon>
    <path d="M1.5 8C4 4.5 12 4.5 14.5 8 12 11.5 4 11.5 1.5 8Z" />
    <circle cx="8" cy="8" r="1.5" />
  </Icon>
);

export const FileIcon = () => (
  <Icon>
    <path d="M4 1.5h5.5L12.5 5v9.5H4zM9 1.5V5h3.5M6 8h4.5M6 11h4.5" />
  </Icon>
);

export const GlobeIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="6" />
    <path d="M2 8h12M8 2c-4 3.5-4 8.5 0 12 4-3.5 4-8.5 0-12Z" />
  </Icon>
);

export const LockIcon = () => (
  <Icon>
    <path d="M4 7h8v6.5H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2" />
  </Icon>
);

export const MoreIcon = () => (
  <Icon>
    <path d="M8 3v.01M8 8v.01M8 13v.01" stroke-width="2.4" />
  </Icon>
);

export const WindowIcon = () => (
  <Icon>
    <path d="M5.5 2.5h8v8h-8zM10.5 10.5v3h-8v-8h3" />
  </Icon>
);
