import { useEffect, useState } from 'preact/hooks';
import { sendRequest } from './api.ts';
import { Blocks } from './blocks/blocks.tsx';
import { useChat } from './chat.ts';
import { HomeSurface } from './surface.tsx';

/** The app's Home tab. Opening it sends an event to the app, which then publishes the tab for this person. */
export function Home() {
  const { snapshot, me, warn } = useChat();
  const [opening, setOpening] = useState(true);
  useEffect(() => {
    sendRequest('home', { user: me.id })
      .catch((error: unknown) => warn(String(error)))
      .finally(() => setOpening(false));
  }, [me.id]);
  const { home } = snapshot;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <section class="home" aria-label="Home of the app" aria-busy={opening} tabIndex={0}>
      {home ? (
        <HomeSurface view={home}>
          <Blocks blocks={home.blocks} />
        </HomeSurface>
      ) : (
        <p class="quiet">{opening ? 'Opening…' : 'The app has nothing to show here.'}</p>
      )}
    </section>
  );
}
