export interface Html {
  readonly markup: string;
}

type Part = string | number | Html | readonly Html[] | undefined | false;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

function toMarkup(part: Part): string {
  if (part === undefined || part === false) return '';
  if (typeof part === 'object')
    return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('');
  return escapeHtml(String(part));
}

/** Escapes everything inserted into the template, except other `Html`. */
export function html(markup: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: markup.map((text, index) => text + toMarkup(parts[index])).join('') };
}

/** Embeds data for the page's script, in an element that browsers don't execute. */
export function jsonScript(id: string, value: unknown): Html {
  const json = JSON.stringify(value).replaceAll('<', '\\u003c');
  return { markup: `<script type="application/json" id="${id}">${json}</script>` };
}
