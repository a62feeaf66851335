import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
  WebAuthnError,
} from '@simplewebauthn/browser';

/* The script of the signing pages. */

interface PageData {
  readonly action: 'get' | 'create';
  readonly options: PublicKeyCredentialRequestOptionsJSON & PublicKeyCredentialCreationOptionsJSON;
  readonly texts: Readonly<Record<'waiting' | 'failed' | 'noWebAuthn' | 'noResponse' | 'duplicate', string>>;
}

interface ServerResult {
  readonly done: boolean;
  readonly title: string;
  readonly text: string;
}

const findElement = <Type extends HTMLElement>(id: string, type: new () => Type): Type | undefined => {
  const element = document.getElementById(id);
  return element instanceof type ? element : undefined;
};

showLocalTimes();
enableRowFilter();
const data = findElement('data', HTMLScriptElement);
if (data !== undefined) startCeremony(JSON.parse(data.text));

function startCeremony({ action, options, texts }: PageData): void {
  const button = findElement('act', HTMLButtonElement);
  const status = findElement('status', HTMLParagraphElement);
  if (button === undefined || status === undefined) return;
  const showStatus = (text: string, isProblem: boolean): void => {
    status.textContent = text;
    status.className = isProblem ? 'problem' : '';
  };
  if (!browserSupportsWebAuthn()) {
    button.disabled = true;
    showStatus(texts.noWebAuthn, true);
    return;
  }
  button.addEventListener('click', async () => {
    button.disabled = true;
    showStatus(texts.waiting, false);
    const body = await askAuthenticator(action, options).catch((error: unknown) => {
      const isDuplicate =
        error instanceof WebAuthnError && error.code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED';
      showStatus(isDuplicate ? texts.duplicate : texts.failed, true);
    });
    if (body === undefined) {
      button.disabled = false;
      return;
    }
    const answer = await postResponse(body).catch(() => undefined);
    if (answer?.done === true) {
      showResult(answer);
      return;
    }
    button.disabled = answer === undefined;
    showStatus(answer?.text ?? texts.noResponse, true);
  });
}

async function askAuthenticator(
  action: PageData['action'],
  optionsJSON: PageData['options'],
): Promise<object> {
  if (action === 'get') return startAuthentication({ optionsJSON });
  const label = findElement('label', HTMLInputElement)?.value.trim() ?? '';
  const { id, rawId, type, response } = await startRegistration({ optionsJSON });
  const { clientDataJSON, attestationObject } = response;
  return { label, registration: { id, rawId, type, response: { clientDataJSON, attestationObject } } };
}

async function postResponse(body: object): Promise<ServerResult> {
  const response = await fetch(location.href, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

function showResult({ title, text }: ServerResult): void {
  const heading = document.createElement('h1');
  heading.textContent = title;
  heading.tabIndex = -1;
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  document.querySelector('main')?.replaceChildren(heading, paragraph);
  document.title = title;
  heading.focus();
}

function showLocalTimes(): void {
  const format = new Intl.DateTimeFormat(undefined, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
  });
  for (const element of document.querySelectorAll('time')) {
    element.textContent = format.format(new Date(element.dateTime));
  }
}

function enableRowFilter(): void {
  const filter = findElement('filter', HTMLInputElement);
  const rows = [...document.querySelectorAll<HTMLElement>('#rows > li')];
  const count = document.getElementById('count');
  filter?.addEventListener('input', () => {
    const query = filter.value.trim().toLowerCase();
    let shownCount = 0;
    for (const row of rows) {
      row.hidden = !(row.textContent ?? '').toLowerCase().includes(query);
      if (!row.hidden) shownCount += 1;
    }
    if (count !== null) count.textContent = `${shownCount} of ${rows.length}`;
  });
}
