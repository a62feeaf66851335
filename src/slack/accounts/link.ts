import { z } from 'zod';
import { type Account, APPLICATION_SLOT } from '../../accounts/account.ts';
import type { LinkOutcome } from '../../accounts/check.ts';
import { HOUR_MS } from '../../lib/duration.ts';
import type { Credential } from '../../service/authenticator/signature.ts';
import { Secret } from '../../service/secret.ts';
import type { SlackContext } from '../context.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type FormFeature,
  type Interaction,
  isAdmin,
  type SubmissionCall,
  type SubmissionResult,
  toFormOrigin,
} from '../feature.ts';
import { actions, lineSections, message, section, textMessage } from '../kit/blocks.ts';
import {
  choiceField,
  choicesSchema,
  type Field,
  type FieldDisplay,
  type FieldErrors,
  type FormValues,
  field,
  parseForm,
  toFields,
  toOptions,
} from '../kit/form.ts';
import { createRateLimiter, type RateLimiter } from '../kit/limiter.ts';
import { openForm } from '../open-form.ts';
import { createRefreshAction } from '../refresh-form.ts';
import {
  activeAccountQuestion,
  activeAccountText,
  detailsButton,
  detailsMessage,
  formatLinkRefusal,
  LINK_TEXTS,
  linkedText,
  NO_LONGER_LINKED,
  noSuchAccountText,
  teamLinkedText,
  tooManyAttemptsText,
  UNLINK_TEXTS,
  unlinkedText,
  unlinkQuestion,
  whoamiText,
} from './link.view.ts';

type SignInMethod = Account['method'];

const MAX_LINK_ATTEMPTS_PER_HOUR = 10;

export function createLinkLimiter(): RateLimiter {
  return createRateLimiter(MAX_LINK_ATTEMPTS_PER_HOUR, HOUR_MS);
}

const methodSchema = z.enum(['password', 'trusted_application', 'two_factor']);
const METHOD_DISPLAY: FieldDisplay = {
  label: 'Sign-in method',
  kind: 'choice',
  options: toOptions({
    password: 'User name and password',
    trusted_application: 'Trusted application',
    two_factor: 'User name, password and two-factor token',
  }),
  refreshesForm: true,
};

const VISIBLE_TEXT = /^[^\p{Cc}\p{Cs}]*$/u;

function createNameSchema(missingError: string, tooLongError: string) {
  return z
    .string(missingError)
    .trim()
    .min(1, missingError)
    .max(255, tooLongError)
    .regex(VISIBLE_TEXT, LINK_TEXTS.invisibleCharacter);
}

const userSchemas = {
  user: field(
    { label: 'User name', kind: 'text' },
    createNameSchema('Enter your user name.', 'That’s too long for a user name.'),
  ),
  context: field(
    {
      label: 'Context',
      kind: 'number',
      hint: 'Use 1 for the demo system, and 4 or your own number for the live one.',
    },
    z
      .string('Enter the context number, such as 4.')
      .regex(/^[1-9]\d{0,9}$/, 'Enter the context number, such as 4.')
      .transform(Number)
      .pipe(z.number().max(2_147_483_647, 'That number is too large for a context.')),
  ),
};
const password = field(
  { label: 'Password', kind: 'secret', hint: 'Stored encrypted and never shown.' },
  z
    .string('Enter the password.')
    .max(1_000, 'That’s too long for a password.')
    .regex(VISIBLE_TEXT, LINK_TEXTS.invisibleCharacter)
    .transform((text) => new Secret(text)),
);

const toOptionalSecret = (text: string) => (text === '' ? undefined : new Secret(text));

const METHOD_SCHEMAS = {
  password: z.object({ method: field(METHOD_DISPLAY, z.literal('password')), ...userSchemas, password }),
  trusted_application: z.object({
    method: field(METHOD_DISPLAY, z.literal('trusted_application')),
    uuid: field(
      { label: 'Application UUID', kind: 'text' },
      z
        .string('Enter the application’s UUID.')
        .regex(/^[0-9A-Fa-f-]{8,64}$/, 'Enter the UUID as shown by the service, such as 0b0f7c1e-….'),
    ),
    application: field(
      { label: 'Application name', kind: 'text' },
      createNameSchema('Enter the application’s name.', 'That’s too long for a name.'),
    ),
    password,
  }),
  two_factor: z
    .object({
      method: field(METHOD_DISPLAY, z.literal('two_factor')),
      ...userSchemas,
      password,
      token: field(
        {
          label: 'Token',
          kind: 'secret',
          hint: 'Six digits from your authenticator. With only a token, the link lasts for one session of the service, about 10 minutes.',
        },
        z
          .string()
          .trim()
          .regex(/^(\d{6})?$/, 'A token has six digits.')
          .transform(toOptionalSecret)
          .optional(),
      ),
      totpSecret: field(
        {
          label: 'Shared secret',
          kind: 'secret',
          hint: 'The text behind your authenticator’s QR code. I use it to generate tokens.',
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
          .transform(toOptionalSecret)
          .optional(),
      ),
    })
    .refine(({ token, totpSecret }) => token !== undefined || totpSecret !== undefined, {
      path: ['token'],
      error: 'Enter a token or the shared secret.',
    }),
} satisfies Readonly<Record<SignInMethod, z.ZodObject>>;

/** For admins only. The team's account must be a trusted application. */
const ownerSchema = z.object({
  team: choiceField('Whose account is it?', { true: 'The team’s account' }, choicesSchema, {
    kind: 'checkboxes',
    hint: 'People without an account of their own can then make requests. Their approved orders use this account.',
  }),
});

function buildFields(method: SignInMethod, call: Interaction): readonly Field[] {
  const { context, person } = call;
  const canBelongToTeam = method === 'trusted_application' && isAdmin(context, person);
  return [...toFields(METHOD_SCHEMAS[method]), ...(canBelongToTeam ? toFields(ownerSchema) : [])];
}

function getSelectedMethod(values: FormValues): SignInMethod {
  return methodSchema.safeParse(values['method']).data ?? 'password';
}

const linkForm: FormFeature<'link'> = {
  form: { name: 'link', title: 'Link an account', submit: 'Link', fields: toFields(METHOD_SCHEMAS.password) },

  render(call, _origin, values) {
    const method = getSelectedMethod(values);
    return {
      form: { ...linkForm.form, fields: buildFields(method, call) },
      values: { ...values, method },
      intro: [section(LINK_TEXTS.intro)],
    };
  },

  async submit(call): Promise<SubmissionResult> {
    const method = getSelectedMethod(call.values);
    const parsed = parseForm(METHOD_SCHEMAS[method], { ...call.values, method });
    if ('errors' in parsed) return parsed;
    const { linkAttempts, log } = call.context;
    const linkTarget = readLinkTarget(call, parsed.value);
    if ('errors' in linkTarget) return linkTarget;
    const waitSeconds = linkAttempts.recordUse(call.person.id);
    if (waitSeconds !== undefined) {
      log.warn({ userId: call.person.id }, 'too many attempts to link credentials');
      return { errors: { password: tooManyAttemptsText(waitSeconds) } };
    }
    const outcome = await linkTarget.link();
    if (outcome.kind !== 'refused') linkAttempts.undoUse(call.person.id);
    if (outcome.kind !== 'linked') return { errors: { password: formatLinkRefusal(outcome.refusal) } };
    return { reply: textMessage(linkTarget.isTeamAccount ? teamLinkedText(outcome) : linkedText(outcome)) };
  },
};

function readLinkTarget(
  { context, person, values }: SubmissionCall,
  credential: Credential,
):
  | { readonly isTeamAccount: boolean; readonly link: () => Promise<LinkOutcome> }
  | { readonly errors: FieldErrors } {
  const { accounts } = context;
  const parsed = parseForm(ownerSchema, values);
  if ('errors' in parsed) return parsed;
  if (parsed.value.team.length === 0)
    return { isTeamAccount: false, link: () => accounts.link(person.id, credential) };
  if (!isAdmin(context, person)) return { errors: { team: LINK_TEXTS.adminsOnly } };
  if (credential.method !== 'trusted_application')
    return { errors: { team: LINK_TEXTS.trustedApplicationOnly } };
  return { isTeamAccount: true, link: () => accounts.team.link(person.id, credential) };
}

async function openLinkForm(call: Interaction): Promise<void> {
  await openForm(call, linkForm, toFormOrigin(call), {
    method: 'password',
    context: String(call.context.defaultContext),
  });
}

function parseSlot(word: string): string {
  return word.toLowerCase() === APPLICATION_SLOT ? APPLICATION_SLOT : word;
}

/** For `/domain unlink team`. */
const TEAM_WORD = 'team';

async function unlinkTeam({ context, person, respond }: CommandCall): Promise<void> {
  if (!isAdmin(context, person)) return respond(UNLINK_TEXTS.adminsOnly);
  const removedAccount = await context.accounts.team.unlink(person.id);
  await respond(
    removedAccount === undefined
      ? UNLINK_TEXTS.noTeamAccount
      : unlinkedText([removedAccount], await listUnsentOrderIds(context, [removedAccount]), true),
  );
}

function listUnsentOrderIds({ orders }: SlackContext, removedAccounts: readonly Account[]) {
  return orders.store.listUnfinishedIds(removedAccounts.map(({ id }) => id));
}

async function runUnlink(call: CommandCall): Promise<void> {
  const [word] = call.words;
  if (word?.toLowerCase() === TEAM_WORD) return unlinkTeam(call);
  const accounts = await call.context.accounts.list(call.person.id);
  if (accounts.length === 0) return call.respond(UNLINK_TEXTS.noAccount);
  const chosenAccounts =
    word === undefined ? accounts : accounts.filter((account) => account.slot === parseSlot(word));
  if (chosenAccounts.length === 0 && word !== undefined) return call.respond(noSuchAccountText(accounts));
  if (word === undefined && accounts.length > 1) return call.respond(unlinkQuestion(accounts));
  const removedAccounts = await call.context.accounts.unlink(call.person.id, chosenAccounts[0]?.slot);
  await call.respond(unlinkedText(removedAccounts, await listUnsentOrderIds(call.context, removedAccounts)));
}

async function runUse(call: CommandCall): Promise<void> {
  const [word] = call.words;
  const accounts = await call.context.accounts.list(call.person.id);
  if (word === undefined) return call.respond(activeAccountQuestion(accounts));
  const account = await call.context.accounts.activate(call.person.id, parseSlot(word));
  await call.respond(account === undefined ? noSuchAccountText(accounts) : activeAccountText(account));
}

async function runWhoami(call: CommandCall): Promise<void> {
  const [accounts, teamAccount] = await Promise.all([
    call.context.accounts.list(call.person.id),
    call.context.accounts.team.find(),
  ]);
  const text = whoamiText(accounts, teamAccount);
  const loginAccount = accounts.find(({ isActive, method }) => isActive && method === 'password');
  const detailsBlocks = loginAccount === undefined ? [] : actions('whoami', [detailsButton(loginAccount)]);
  await call.respond(message(text, [...lineSections(text.split('\n')), ...detailsBlocks]));
}

/** Shows access rights, profile and customer data, but only to the account's owner. */
async function showDetails(call: ActionCall): Promise<void> {
  const { accounts } = call.context;
  const account = (await accounts.list(call.person.id)).find(({ id }) => id === call.value);
  const outcome = account === undefined ? undefined : await accounts.readUser(account.id);
  await call.respond(
    account === undefined || outcome === undefined ? NO_LONGER_LINKED : detailsMessage(account, outcome),
  );
}

export const link = {
  commands: [
    {
      usage: 'link',
      summary: 'Link your domain service account',
      example: '/domain link',
      run: openLinkForm,
    },
    {
      usage: 'unlink [CONTEXT]',
      summary: 'Delete your credentials',
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
      summary: 'Choose your active account',
      example: '/domain use 4',
      run: runUse,
    },
  ],
  forms: [linkForm],
  actions: [
    createRefreshAction('method', linkForm),
    { id: 'home_link', run: openLinkForm },
    { id: 'whoami_details', run: showDetails },
  ],
} as const satisfies Feature;
