import { type AddedKey, MAX_KEYS } from '../approvals/signing/key-ring.ts';
import type { ProposedNameChanges } from '../names/portfolio.ts';
import { findUpcomingSendTime, isReopened, type Order } from '../orders/order.ts';
import type { Statement, StatementItem } from '../orders/statement-shape.ts';
import type { CeremonyResult, SigningContent, SigningPage, SigningProblem } from './ceremony.ts';
import { embedJson, type Html, html } from './html.ts';

/** Formats orders and changes to names as on their cards. */
export interface CardFormatters {
  readonly formatTitle: (order: Order) => string;
  readonly formatFields: (
    item: StatementItem,
  ) => readonly { readonly label: string; readonly values: readonly string[] }[];
  readonly formatItemName: (order: Order, name: string) => string;
  /** One line for each finding about a bulk order's names. */
  readonly formatFindings: (order: Order) => readonly string[];
  /** One line for each name whose protected fields change. */
  readonly formatNameChanges: (change: ProposedNameChanges) => readonly string[];
}

export interface OrderFacts {
  readonly account: string;
  /** Price, budget and dates. */
  readonly facts: readonly { readonly label: string; readonly lines: readonly string[] }[];
  readonly unusualTexts: readonly string[];
  readonly changesSinceRequest: readonly string[];
  /** One line for each name that a mandate covers. */
  readonly coverageTexts: readonly string[];
}

export interface PageFacts {
  /** Display names by user id. */
  readonly displayNames: ReadonlyMap<string, string>;
  readonly orderFacts: OrderFacts | undefined;
  readonly policyFile: string;
}

export interface Page {
  readonly status: number;
  readonly html: string;
}

interface ScriptData {
  readonly action: 'get' | 'create';
  readonly options: unknown;
  readonly texts: typeof SCRIPT_TEXTS;
}

/** Messages that the page's script shows. */
const SCRIPT_TEXTS = {
  waiting: 'Waiting for your passkey…',
  failed:
    'Nothing was signed. Your browser found no passkey of yours, or you canceled. Click the button again.',
  noWebAuthn:
    'This window can’t use passkeys. Open this address in your browser: Safari, Chrome, Edge or Firefox.',
  noResponse:
    'The bot didn’t respond. Check the card in Slack to see whether it was signed, then get a new link.',
  duplicate: 'This device already has a passkey of yours for the bot. Nothing was added.',
};

/** Not in the template, where the tests' compiler would replace the tag with a helper that isn't installed. */
const SCRIPT: Html = { markup: '<script src="page.js" defer></script>' };

const formatDocument = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Domain Steward</title>
<link rel="stylesheet" href="page.css">
${SCRIPT}
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`.markup;

export function formatSigningPage(page: SigningPage, formatters: CardFormatters, facts: PageFacts): Page {
  const { title, body, button } =
    page.kind === 'add' ? buildAddParts(page, facts) : buildSignParts(page.content, formatters, facts);
  const data: ScriptData = {
    action: page.kind === 'add' ? 'create' : 'get',
    options: page.options,
    texts: SCRIPT_TEXTS,
  };
  return {
    status: 200,
    html: formatDocument(
      title,
      html`<h1>${title}</h1>
${body}
<noscript><p class="problem">This page needs JavaScript. Allow scripts for it.</p></noscript>
<p class="act"><button type="button" id="act">${button}</button></p>
<p id="status" role="status" aria-live="polite"></p>
${embedJson('data', data)}`,
    ),
  };
}

export function formatProblemPage(code: SigningProblem['code'], text: string): Page {
  const isGone = code === 'link_expired' || code === 'link_spent' || code === 'gone';
  const status = code === 'unknown_link' ? 404 : isGone ? 410 : 403;
  return {
    status,
    html: formatDocument('Nothing to sign', html`<h1>Nothing to sign</h1>\n<p>${text}</p>`),
  };
}

interface PageParts {
  readonly title: string;
  readonly body: Html;
  readonly button: string;
}

const getName = ({ displayNames }: PageFacts, id: string) => displayNames.get(id) ?? id;

function buildSignParts(content: SigningContent, formatters: CardFormatters, facts: PageFacts): PageParts {
  switch (content.kind) {
    case 'order':
      return buildOrderParts(content.order, content.statement, content.userId, formatters, facts);
    case 'facts':
      return buildNameChangeParts(content, formatters, facts);
    case 'charter':
      return buildCharterParts(content, facts);
    case 'vouch':
    case 'revoke':
    case 'revoke_compromised':
      return buildKeyParts(content.kind, content.key, content.userId, facts);
  }
}

/** The page's script converts the time to the reader's time zone. */
function formatTime(time: Date): Html {
  return html`<time datetime="${time.toISOString()}">${time.toISOString().slice(0, 16).replace('T', ' ')} UTC</time>`;
}

function formatSendTime(order: Order, sendTime: Date): Html {
  const label =
    isReopened(order) || findUpcomingSendTime(order) !== undefined ? 'Will be sent' : 'Scheduled for';
  const time = isReopened(order)
    ? html`right after approval (was scheduled for ${formatTime(sendTime)})`
    : formatTime(sendTime);
  return html`<dt>${label}</dt><dd>${time}</dd>\n`;
}

function buildOrderParts(
  order: Order,
  statement: Statement,
  userId: string,
  formatters: CardFormatters,
  facts: PageFacts,
): PageParts {
  const waitingCount = order.items.filter(({ state }) => state === 'WAITING').length;
  const isPartial = waitingCount < order.items.length;
  const orderFacts = facts.orderFacts;
  const { notBefore } = statement;
  return {
    title: formatters.formatTitle(order),
    button: 'Sign',
    body: html`${formatNote('unusual', 'Unusual', orderFacts?.unusualTexts)}
<dl>
<dt>Requested by</dt><dd>${getName(facts, order.requesterId)}, ${formatTime(order.createdAt)}</dd>
${order.reason === undefined ? undefined : html`<dt>Reason</dt><dd>“${order.reason}”</dd>\n`}${notBefore === undefined ? undefined : formatSendTime(order, new Date(notBefore))}<dt>Account</dt><dd>${orderFacts?.account}</dd>
${orderFacts?.facts.map(({ label, lines }) => html`<dt>${label}</dt><dd>${joinLines(lines)}</dd>\n`)}<dt>Sent to</dt><dd><code>${statement.service}</code></dd>
<dt>Order</dt><dd><code>${order.id}</code></dd>
<dt>You sign as</dt><dd>${getName(facts, userId)}</dd>
</dl>
${formatNote('changes', 'Since it was requested', orderFacts?.changesSinceRequest)}
${formatNote('coverage', 'What it covers today', orderFacts?.coverageTexts)}
${formatNote('findings', 'Check these first', formatters.formatFindings(order))}
${isPartial ? html`<p class="note">${waitingCount} of ${order.items.length} names are waiting to be sent.</p>` : undefined}
<h2>What will be sent</h2>
${formatRows(order, statement, formatters)}
<p class="hash">Your passkey signs this hash of it: <code>${order.statementHash}</code></p>`,
  };
}

function joinLines(lines: readonly string[]): readonly Html[] {
  return lines.map((line, index) => html`${index > 0 && html`<br>`}${line}`);
}

function formatNote(id: string, title: string, texts: readonly string[] = []): Html | undefined {
  if (texts.length === 0) return undefined;
  return html`<section class="note" aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
<ul>${texts.map((text) => html`<li>${text}</li>`)}</ul></section>`;
}

const MIN_ROWS_FOR_FILTER = 8;

/** Lists every request, outliers first. */
function formatRows(order: Order, { items }: Statement, formatters: CardFormatters): Html {
  // A finding that applies to most names doesn't make them outliers.
  const findings = order.bulk?.findings.filter(({ count }) => count * 2 <= items.length);
  const outliers = new Set(findings?.flatMap(({ names }) => names));
  const outlierItems = items.filter(({ name }) => outliers.has(name));
  const sortedItems = [...outlierItems, ...items.filter(({ name }) => !outliers.has(name))];
  const filter =
    items.length < MIN_ROWS_FOR_FILTER
      ? undefined
      : html`<p><label for="filter">Filter the ${items.length} names</label> <input id="filter" type="search" autocomplete="off" spellcheck="false"> <span id="count" role="status"></span></p>\n`;
  return html`${filter}<ol class="rows" id="rows">
${sortedItems.map((item) => formatRow(order, item, outliers.has(item.name), formatters))}
</ol>`;
}

function formatRow(order: Order, item: StatementItem, isOutlier: boolean, formatters: CardFormatters): Html {
  return html`<li value="${item.n}"${isOutlier ? html` class="outlier"` : undefined}><strong>${formatters.formatItemName(order, item.name)}</strong>${isOutlier ? html` <em>Check this one</em>` : undefined}
<span class="request"><code>${formatRequest(item.request)}</code></span>
${formatters.formatFields(item).map(({ label, values }) => html`<span class="field">${label}: ${values.join(', ')}</span> `)}</li>
`;
}

function formatRequest(request: StatementItem['request']): string {
  if (request.interface === 'none') return 'Nothing will be sent';
  return request.interface === 'json' ? `${request.method} ${request.path}` : `XML task ${request.code}`;
}

function buildNameChangeParts(
  { proposal, userId, hash }: Extract<SigningContent, { kind: 'facts' }>,
  formatters: CardFormatters,
  facts: PageFacts,
): PageParts {
  return {
    title: 'Confirm a change that weakens protection',
    button: 'Sign',
    body: html`<dl>
<dt>Requested by</dt><dd>${getName(facts, proposal.proposer)}, ${formatTime(proposal.proposedAt)}</dd>
<dt>You sign as</dt><dd>${getName(facts, userId)}</dd>
</dl>
<h2>What changes</h2>
<ul>${formatters.formatNameChanges(proposal.payload).map((text) => html`<li>${text}</li>`)}</ul>
<p class="hash">Your passkey signs this hash of it: <code>${hash}</code></p>`,
  };
}

function buildCharterParts(
  content: Extract<SigningContent, { kind: 'charter' }>,
  facts: PageFacts,
): PageParts {
  const { settings, policy } = content;
  return {
    title: `Sign the policy and settings`,
    button: 'Sign',
    body: html`<dl>
<dt>Policy version</dt><dd>${policy.version}</dd>
<dt>Approvers</dt><dd>${settings.approvers.map((id) => getName(facts, id)).join(', ')}</dd>
<dt>Silent approvers</dt><dd>${settings.silent_approvers.map((id) => getName(facts, id)).join(', ') || 'none'}</dd>
<dt>Approvals needed</dt><dd>${settings.approvals_required}</dd>
<dt>Tasks that need approval</dt><dd>${settings.approval_tasks.join(', ')}</dd>
<dt>Self-approval</dt><dd>${settings.allow_self_approval ? 'yes' : 'no'}</dd>
${content.published_by === null ? undefined : html`<dt>Published by</dt><dd>${getName(facts, content.published_by)}</dd>\n`}<dt>You sign as</dt><dd>${getName(facts, content.userId)}</dd>
</dl>
<h2>Rules</h2>
<pre tabindex="0" aria-label="The rules as a file">${facts.policyFile}</pre>`,
  };
}

function buildKeyParts(
  kind: 'vouch' | 'revoke' | 'revoke_compromised',
  key: AddedKey,
  userId: string,
  facts: PageFacts,
): PageParts {
  const owner = getName(facts, key.owner);
  const explanations = {
    vouch: `Ask ${owner} to read you the fingerprint by phone or in person, not in Slack. From then on, signatures with this key count as ${owner}’s.`,
    revoke:
      'For a key you no longer use. Approvals signed with it no longer count. A policy signed with it stays in force. This can’t be undone.',
    revoke_compromised:
      'For a key someone else may have. Approvals and policies signed with it no longer count. If it signed the policy in force, every order needs a signed approval until an admin signs the policy again. This can’t be undone.',
  };
  const titles = {
    vouch: `Vouch for ${owner}’s passkey`,
    revoke: `Revoke ${owner}’s passkey (retired)`,
    revoke_compromised: `Revoke ${owner}’s passkey (compromised)`,
  };
  return {
    title: titles[kind],
    button: kind === 'vouch' ? 'Vouch' : 'Revoke',
    body: html`<dl>
<dt>Owner</dt><dd>${owner}</dd>
<dt>Name</dt><dd>${key.label === '' ? 'without a name' : key.label}</dd>
<dt>Fingerprint</dt><dd><code>${key.fingerprint}</code></dd>
<dt>Added</dt><dd>${formatTime(key.addedAt)}</dd>
<dt>You sign as</dt><dd>${getName(facts, userId)}</dd>
</dl>
<p>${explanations[kind]}</p>`,
  };
}

function buildAddParts(
  { userId, isFirstKey }: Extract<SigningPage, { kind: 'add' }>,
  facts: PageFacts,
): PageParts {
  return {
    title: `Add a passkey for ${getName(facts, userId)}`,
    button: 'Add this passkey',
    body: html`<p>Your passkey becomes valid when someone with a valid passkey vouches for it.</p>
${isFirstKey ? html`<p>No passkey is valid yet. Put the first one’s fingerprint in <code>SIGNING_ROOTS</code>.</p>` : undefined}
<p><label for="label">Name</label> <input id="label" type="text" maxlength="60" autocomplete="off" placeholder="Laptop"></p>`,
  };
}

export function formatResult(result: CeremonyResult): { readonly title: string; readonly text: string } {
  switch (result.kind) {
    case 'signed':
      return { title: 'Signed', text: 'See the card in Slack for what’s next. You can close this window.' };
    case 'vouched':
      return { title: 'Vouched', text: 'The passkey is valid from now on. You can close this window.' };
    case 'revoked':
      return { title: 'Revoked', text: 'It can’t sign anything from now on. You can close this window.' };
    case 'added':
      return {
        title: 'Added',
        text: `Its fingerprint is ${result.fingerprint}. Read it to the person who vouches for it. For the first passkey, the operator puts it in SIGNING_ROOTS.`,
      };
  }
}

export function getProblemText(code: keyof typeof TEXTS_BY_PROBLEM): string {
  return TEXTS_BY_PROBLEM[code];
}

const TEXTS_BY_PROBLEM: Readonly<Record<Exclude<SigningProblem['code'], 'refused'>, string>> = {
  unknown_link: 'This address isn’t valid. Click the button in Slack again for a new one.',
  link_expired: 'This link expired after ten minutes. Click the button in Slack again for a new one.',
  link_spent: 'This link works once and was already used. Click the button in Slack again for a new one.',
  gone: 'There’s nothing to sign here anymore, or it changed. Check it in Slack.',
  no_key:
    'None of your passkeys is valid. Use /domain key to add one, and ask someone with a valid passkey to vouch for it.',
  key_unknown:
    'That’s not one of your valid passkeys. Use one that /domain key lists as yours, or add this one there.',
  may_not_revoke:
    'A passkey can be revoked by its owner, by the person who vouched for it, or by someone with a root passkey.',
  too_many_keys: `You have ${MAX_KEYS} passkeys, which is the limit. Revoke one you no longer use with /domain key, then add this one. If none of yours is valid, ask someone with a root passkey to revoke one.`,
  beyond_limit: 'This would exceed a limit on names. Click Confirm in Slack to see which limit.',
  no_bot_signer:
    'The bot can’t decrypt the ledger’s key, so nothing can be signed. Ask the operator to check the bot’s log.',
  not_an_admin: 'Only admins can sign the policy and settings. Ask one of them.',
  own_change: 'You published this. Another admin with a valid passkey has to sign it.',
  not_signed:
    'The signature doesn’t match this page: it was made elsewhere, without user verification, or was changed. Nothing was signed. Open the link again in your browser, and use a passkey with a fingerprint, a face or a PIN.',
  changed: 'This changed since the page was opened. Reload the page and check it again.',
  counter:
    'This passkey’s signature counter went back: it may have been copied. Nothing was signed. Revoke it with /domain key, and add another.',
  key_taken: 'This passkey was already added.',
  unreadable: 'Your browser’s data can’t be read. Nothing was signed. Reload the page.',
  registration:
    'The passkey wasn’t made for this page, or without user verification. Nothing was added. Open the link again in your browser, and choose a passkey with a fingerprint, a face or a PIN.',
};
