export interface Html {
  readonly markup: string;
}

type TemplateValue = string | number | Html | readonly Html[] | undefined | false;

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

function toMarkup(value: TemplateValue): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'object')
    return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
  return escapeHtml(String(value));
}

/** Escapes everything inserted into the template, except other `Html`. */
export function html(strings: TemplateStringsArray, ...values: readonly TemplateValue[]): Html {
  return { markup: strings.map((text, index) => text + toMarkup(values[index])).join('') };
}

/** Embeds data for the page's script, in an element that browsers don't execute. */
export function embedJson(id: string, value: unknown): Html {
  const json = JSON.stringify(value).replaceAll('<', '\\u003c');
  return { markup: `<script type="application/json" id="${id}">${json}</script>` };
}
