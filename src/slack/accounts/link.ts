import { z } from 'zod';
import { type Account, APPLICATION_SLOT, accountName } from '../../accounts/account.ts';
import type { LinkOutcome } from '../../accounts/accounts.ts';
import { present } from '../../collections.ts';
import { HOUR_MS } from '../../duration.ts';
import type { Credential } from '../../service/authenticator/signature.ts';
import { Secret } from '../../service/secret.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type FormFeature,
  formOrigin,
  type Interaction,
  isAdmin,
  type SlackDeps,
  type SubmissionCall,
  type Submitted,
} from '../feature.ts';
import {
  actions,
  button,
  code,
  count,
  escapeText,
  firstOf,
  lines,
  mention,
  message,
  moment,
  quote,
  section,
  textMessage,
} from '../kit/blocks.ts';
import {
  type Field,
  type FieldErrors,
  type FieldLook,
  type FormValues,
  field,
  fieldsOf,
  readForm,
} from '../kit/form.ts';
import { createLimiter, type Limiter } from '../kit/limiter.ts';
import { factsOf } from '../orders/answer.view.ts';
import { formatContext } from '../orders/order.view.ts';
import { openForm } from '../orders/ordering.ts';
import { refreshing } from '../refresh-form.ts';
import { formatLinkRefusal } from './link.view.ts';

/*
 * Linked accounts: each person works with their own credentials at the domain service.
 */

const METHODS = [
  { value: 'password', text: 'User and password' },
  { value: 'trusted_application', text: 'Trusted application' },
  { value: 'two_factor', text: 'User, password and two-factor token' },
] as const;
type Method = (typeof METHODS)[number]['value'];

/** How many refused credentials one person may try. */
const LINK_TRIES_PER_HOUR = 10;

/** Limits how many refused credentials each person tries. */
export function limitLinkTries(): Limiter {
  return createLimiter(LINK_TRIES_PER_HOUR, HOUR_MS);
}

const METHOD: FieldLook = { label: 'How you sign in', kind: 'choice', options: METHODS, dispatches: true };

const SEEN = /^[^\p{Cc}\p{Cs}]*$/u;
const UNSEEN = 'It contains a character that cannot be seen. Type it again.';

function nameField(missing: string, tooLong: string) {
  return z.string(missing).trim().min(1, missing).max(255, tooLong).regex(SEEN, UNSEEN);
}

const userInContext = {
  user: field(
    { label: 'User name', kind: 'text' },
    nameField('Give your user name.', 'That is too long for a user name.'),
  ),
  context: field(
    {
      label: 'Context',
      kind: 'number',
      hint: '1 is the demo system; 4, or your own number, is the live one.',
    },
    z
      .string('Give the context’s number, such as 4.')
      .regex(/^[1-9]\d{0,9}$/, 'Give the context’s number, such as 4.')
      .transform(Number)
      .pipe(z.number().max(2_147_483_647, 'That number is too large for a context.')),
  ),
};
const password = field(
  { label: 'Password', kind: 'secret', hint: 'Kept sealed; nobody sees it.' },
  z
    .string('Give the password.')
    .max(1_000, 'That is too long for a password.')
    .regex(SEEN, UNSEEN)
    .transform((text) => new Secret(text)),
);

const sealed = (text: string) => (text === '' ? undefined : new Secret(text));

/** What each way to sign in asks for. */
const CREDENTIALS = {
  password: z.object({ method: field(METHOD, z.literal('password')), ...userInContext, password }),
  trusted_application: z.object({
    method: field(METHOD, z.literal('trusted_application')),
    uuid: field(
      { label: 'Application’s UUID', kind: 'text' },
      z
        .string('Give the application’s UUID.')
        .regex(/^[0-9A-Fa-f-]{8,64}$/, 'Give the UUID as the service shows it, such as 0b0f7c1e-….'),
    ),
    application: field(
      { label: 'Application’s name', kind: 'text' },
      nameField('Give the application’s name.', 'That is too long for a name.'),
    ),
    password,
  }),
  two_factor: z
    .object({
      method: field(METHOD, z.literal('two_factor')),
      ...userInContext,
      password,
      token: field(
        {
          label: 'Token',
          kind: 'secret',
          hint: 'Six digits from your authenticator. With a token alone the link lasts as long as one session of the service, about 10 minutes.',
        },
        z
          .string()
          .trim()
          .regex(/^(\d{6})?$/, 'A token has six digits.')
          .transform(sealed)
          .optional(),
      ),
      totpSecret: field(
        {
          label: 'Shared secret',
          kind: 'secret',
          hint: 'The text behind your authenticator’s QR code. With it I make the tokens myself.',
        },
        z
          .string()
          .transform((text) => text.replace(/[\s-]/g, '').toUpperCase())
          .pipe(
            z
              .string()
              .regex(
                /^([A-Z2-7]{16,}=*)?$/,
                'The shared secret has letters A–Z and digits 2–7, at least 16 of them.',
              ),
          )
          .transform(sealed)
          .optional(),
      ),
    })
    .refine(({ token, totpSecret }) => token !== undefined || totpSecret !== undefined, {
      path: ['token'],
      error: 'Give a token or the shared secret.',
    }),
} satisfies Readonly<Record<Method, z.ZodObject>>;

/** For admins: whose account it is to be. Nothing but a trusted application is nobody's own. */
const whose = z.object({
  team: field(
    {
      label: 'Whose account it is',
      kind: 'choices',
      options: [{ value: 'true', text: 'The team’s account' }],
      hint: 'People without an account of their own may then ask; what is approved goes out with this one.',
    },
    z.array(z.literal('true')).default([]),
  ),
});

function fieldsFor(method: Method, call: Interaction): readonly Field[] {
  const { deps, person } = call;
  const canBeTeams = method === 'trusted_application' && isAdmin(deps, person);
  return [...fieldsOf(CREDENTIALS[method]), ...(canBeTeams ? fieldsOf(whose) : [])];
}

function methodOf(values: FormValues): Method {
  return METHODS.find(({ value }) => value === values['method'])?.value ?? 'password';
}

const linkForm: FormFeature<'link'> = {
  form: { name: 'link', title: 'Link an account', submit: 'Link', fields: fieldsOf(CREDENTIALS.password) },

  render(call, _origin, values) {
    const method = methodOf(values);
    return {
      form: { ...linkForm.form, fields: fieldsFor(method, call) },
      values: { ...values, method },
      intro: [
        section(
          'Your own credentials at the domain service. They are checked, sealed, and used for what you ask for only.',
        ),
      ],
    };
  },

  async submit(call): Promise<Submitted> {
    const method = methodOf(call.values);
    const read = readForm(CREDENTIALS[method], { ...call.values, method });
    if ('errors' in read) return read;
    const { linkTries, log } = call.deps;
    const owner = ownerOf(call, read.value);
    if ('errors' in owner) return owner;
    const seconds = linkTries.take(call.person.id);
    if (seconds !== undefined) {
      log.warn({ userId: call.person.id }, 'a person tries credentials again and again');
      const wait = count(Math.ceil(seconds / 60), 'minute');
      const why = `Too many tries within an hour, so the service was not asked. Wait ${wait}, then try once more; whoever runs the account there can say which credentials are right.`;
      return { errors: { password: why } };
    }
    const outcome = await owner.link();
    if (outcome.kind !== 'refused') linkTries.giveBack(call.person.id);
    if (outcome.kind !== 'linked') return { errors: { password: formatLinkRefusal(outcome.refusal) } };
    return { say: textMessage(owner.isTeam ? teamLinkedText(outcome) : linkedText(outcome)) };
  },
};

/** Whose account a credential becomes, or why it cannot be the team's. */
function ownerOf(
  { deps, person, values }: SubmissionCall,
  credential: Credential,
):
  | { readonly isTeam: boolean; readonly link: () => Promise<LinkOutcome> }
  | { readonly errors: FieldErrors } {
  const { accounts } = deps;
  const read = readForm(whose, values);
  if ('errors' in read) return read;
  if (read.value.team.length === 0)
    return { isTeam: false, link: () => accounts.link(person.id, credential) };
  if (!isAdmin(deps, person))
    return { errors: { team: 'Only admins can link the team’s account. Nothing was stored.' } };
  if (credential.method !== 'trusted_application')
    return { errors: { team: 'Only a trusted application can be the team’s account. Nothing was stored.' } };
  return { isTeam: true, link: () => accounts.team.link(person.id, credential) };
}

function teamLinkedText({ account, replaced }: LinkOutcome & { readonly kind: 'linked' }): string {
  const gone =
    replaced === undefined
      ? ''
      : ` It takes the place of ${code(accountName(replaced))}, which is forgotten: orders that wait with that one will not be sent.`;
  return `:white_check_mark: Stored as the *team’s account*: ${code(accountName(account))}, not yet used. The service documents no way to check it, so its first use tells. People without an account of their own can ask now; what they ask for goes out with it once it is approved.${gone} \`/domain unlink team\` forgets it.`;
}

function linkedText({ account, verified, replaced }: LinkOutcome & { readonly kind: 'linked' }): string {
  const name = code(accountName(account));
  const where = formatContext(account.context);
  const limits =
    account.method === 'two_factor'
      ? ' A two-factor account can work with users, redirects, SSL contacts and preregistrations; domain tasks need an account with a password.'
      : '';
  const gone =
    replaced === undefined
      ? ''
      : ` It takes the place of ${code(accountName(replaced))} (${METHOD_WORDS[replaced.method]}), which is forgotten: orders that wait with that one will not be sent.`;
  return verified
    ? `:white_check_mark: Linked: ${name}, ${where}. It is your active account now.${gone}${limits} Try \`/domain renew cafe.rest\`, or \`/domain help\`.`
    : `:white_check_mark: Stored: ${name}, not yet used. The service documents no way to check it, so its first use tells. It is your active account now.${gone}`;
}

/** Opens the form. It may be opened from the Home tab, which has no channel. */
async function openLinkForm(call: Interaction): Promise<void> {
  await openForm(call, linkForm, formOrigin(call), {
    method: 'password',
    context: String(call.deps.defaultContext),
  });
}

function slotOf(word: string): string {
  return word.toLowerCase() === APPLICATION_SLOT ? APPLICATION_SLOT : word;
}

/** Names the team's account in the place of a context. */
const TEAM_WORD = 'team';

async function unlinkTeam({ deps, person, respond }: CommandCall): Promise<void> {
  if (!isAdmin(deps, person))
    return respond('Only admins can unlink the team’s account. Ask a workspace admin or owner.');
  const gone = await deps.accounts.team.unlink(person.id);
  await respond(
    gone === undefined
      ? 'No team’s account is linked, so there is nothing to forget.'
      : `Forgotten: the team’s account, ${code(accountName(gone))}. ${await unsentOrdersText(deps, [gone])}`,
  );
}

/** What becomes of the orders that use accounts which were forgotten. */
async function unsentOrdersText({ orders }: SlackDeps, gone: readonly Account[]): Promise<string> {
  const ids = await orders.store.unfinishedOf(gone.map(({ id }) => id));
  if (ids.length === 0) return 'No order waits for it.';
  return `Nothing more is sent of ${count(ids.length, 'order')}: ${firstOf(ids.map(code), SHOWN_ORDERS)}.`;
}

const SHOWN_ORDERS = 10;

async function runUnlink(call: CommandCall): Promise<void> {
  const [word] = call.words;
  if (word?.toLowerCase() === TEAM_WORD) return unlinkTeam(call);
  const accounts = await call.deps.accounts.list(call.person.id);
  if (accounts.length === 0)
    return call.respond('You have no linked account, so there is nothing to forget.');
  const chosen = word === undefined ? accounts : accounts.filter((account) => account.slot === slotOf(word));
  if (chosen.length === 0 && word !== undefined) return call.respond(noSuchSlot(accounts));
  if (word === undefined && accounts.length > 1) {
    const list = accounts
      .map((account) => `• \`/domain unlink ${account.slot}\`: ${code(accountName(account))}`)
      .join('\n');
    return call.respond(`You have ${accounts.length} linked accounts. Say which one to forget:\n${list}`);
  }
  const gone = await call.deps.accounts.unlink(call.person.id, chosen[0]?.slot);
  await call.respond(
    `Forgotten: ${gone.map((account) => code(accountName(account))).join(', ')}. ${await unsentOrdersText(call.deps, gone)}`,
  );
}

async function runUse(call: CommandCall): Promise<void> {
  const [word] = call.words;
  const accounts = await call.deps.accounts.list(call.person.id);
  if (word === undefined)
    return call.respond(`Say which context, such as \`/domain use 4\`.\n${accountList(accounts)}`);
  const account = await call.deps.accounts.use(call.person.id, slotOf(word));
  await call.respond(
    account === undefined
      ? noSuchSlot(accounts)
      : `Active now: ${code(accountName(account))}, ${formatContext(account.context)}.`,
  );
}

/** What was typed may be a password, so it is not repeated. */
function noSuchSlot(accounts: readonly Account[]): string {
  return `You have no account linked for this.\n${accountList(accounts)}`;
}

function accountList(accounts: readonly Account[]): string {
  if (accounts.length === 0) return 'You have no linked account. Type `/domain link`.';
  return accounts.map(accountLine).join('\n');
}

const METHOD_WORDS: Readonly<Record<Method, string>> = {
  password: 'password',
  trusted_application: 'trusted application',
  two_factor: 'two-factor',
};

function accountLine(account: Account): string {
  const checked =
    account.verifiedAt === undefined ? 'not yet used' : `last checked ${moment(account.verifiedAt)}`;
  const name = account.application === undefined ? '' : ` “${escapeText(account.application)}”`;
  return `${account.active ? ':large_green_circle: *active*' : ':white_circle:'} ${code(accountName(account))}${name}, ${formatContext(account.context)}, ${METHOD_WORDS[account.method]}, ${checked}${formatProfile(account)}`;
}

/** What the service said about the user when the account was last checked, on a line of its own. */
function formatProfile({ profile, method }: Account): string {
  if (profile === undefined) {
    return method === 'password'
      ? ''
      : '\n      The document shows no login that tells more of such an account.';
  }
  const { defaultEmail, status, substatus, language, owner } = profile;
  const parts = present([
    defaultEmail !== undefined && `e-mail ${quote(defaultEmail)}`,
    status !== undefined && `status ${status}${substatus === undefined ? '' : `, substatus ${substatus}`}`,
    owner?.user !== undefined &&
      `owner ${quote(owner.user)}${owner.context === undefined ? '' : ` in context ${owner.context}`}`,
    language !== undefined && `language ${quote(language)}`,
  ]);
  return parts.length === 0 ? '' : `\n      The service says: ${parts.join(', ')}`;
}

/** That there is an account of the team, who linked it, and whether the reader's orders go out with it. */
function teamAccountLine(team: Account | undefined, hasOwn: boolean): string {
  if (team === undefined) return '';
  const by = team.linkedBy === undefined ? '' : `, linked by ${mention(team.linkedBy)}`;
  const checked = team.verifiedAt === undefined ? 'not yet used' : `last used ${moment(team.verifiedAt)}`;
  const use = hasOwn
    ? 'Yours go out with your own.'
    : 'Yours go out with it, because you have none of your own.';
  return `\n:busts_in_silhouette: *The team’s account*: ${code(accountName(team))} “${escapeText(team.application ?? '')}”, ${checked}${by}. Only approved orders use it. ${use}`;
}

async function runWhoami(call: CommandCall): Promise<void> {
  const [accounts, team] = await Promise.all([
    call.deps.accounts.list(call.person.id),
    call.deps.accounts.team.current(),
  ]);
  const text = `${accountList(accounts)}${accounts.length > 1 ? '\nChange the active one with `/domain use CONTEXT`.' : ''}${teamAccountLine(team, accounts.length > 0)}`;
  const asked = accounts.find(({ active, method }) => active && method === 'password');
  await call.respond(
    message(text, [
      ...lines(text.split('\n')),
      ...(asked === undefined
        ? []
        : actions('whoami', [
            button('whoami_details', 'Ask for rights, profile and customer', asked.id, {
              label: `Ask the service for more of ${accountName(asked)}`,
            }),
          ])),
    ]),
  );
}

/** The number of facts that a message shows; a list of rights can be long. */
const MAX_FACTS = 60;

/**
 * Shows everything that the service tells about a login: acl, profile and customer. Only the account's owner
 * sees it.
 */
async function showDetails(call: ActionCall): Promise<void> {
  const { accounts } = call.deps;
  const mine = (await accounts.list(call.person.id)).find(({ id }) => id === call.value);
  const outcome = mine === undefined ? undefined : await accounts.lookUp(mine.id);
  if (mine === undefined || outcome === undefined) {
    return call.respond('This account is not linked any more. `/domain whoami` shows those that are.');
  }
  switch (outcome.kind) {
    case 'failed':
      return call.respond(escapeText(formatLinkRefusal(outcome.refusal)));
    case 'not_documented':
      return call.respond('The document shows no login that tells more of such an account.');
    case 'told': {
      const facts = factsOf(outcome.record);
      const left = facts.length - MAX_FACTS;
      await call.respond(
        message(`What the service knows of ${escapeText(accountName(mine))}`, [
          ...lines([
            `*What the service knows of ${code(accountName(mine))}*`,
            ...facts
              .slice(0, MAX_FACTS)
              .map(([name, value]) => `• ${quote(name, 100)}: ${quote(value, 300)}`),
            left > 0 && `• and ${left} more`,
          ]),
        ]),
      );
    }
  }
}

export const link = {
  commands: [
    {
      usage: 'link',
      summary: 'Link your credentials at the domain service',
      example: '/domain link',
      run: openLinkForm,
    },
    {
      usage: 'unlink [CONTEXT]',
      summary: 'Forget your credentials',
      example: '/domain unlink 4',
      run: runUnlink,
    },
    {
      usage: 'whoami',
      summary: 'Show your linked accounts, without secrets',
      example: '/domain whoami',
      run: runWhoami,
    },
    {
      usage: 'use CONTEXT',
      summary: 'Choose which linked account is active',
      example: '/domain use 4',
      run: runUse,
    },
  ],
  forms: [linkForm],
  actions: [
    refreshing('method', linkForm),
    { id: 'home_link', run: openLinkForm },
    { id: 'whoami_details', run: showDetails },
  ],
} as const satisfies Feature;
