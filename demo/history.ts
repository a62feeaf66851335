import {
  SANDBOX_ACCOUNTS,
  SANDBOX_CONTACTS,
  SANDBOX_NAMESERVERS,
  SANDBOX_TRANSFERABLE_DOMAIN,
  type SandboxService,
} from '@domain-steward/sandbox-service';
import type { Message, Workspace } from '@domain-steward/slack-workspace';
import type { Bot } from '#src/app/bot.ts';
import { diffPrices, type Price } from '#src/money/prices.ts';
import type { Authenticator } from './authenticator.ts';
import type { DemoDns } from './dns.ts';
import { MAX_WAIT_MS, PersonActions } from './people.ts';
import { findPageAddress, signPage } from './root-key.ts';

/*
 * The thirty days before the demo's first start. People act in the local workspace while the bot's clock is set back, so
 * every order, event and message comes from the bot itself.
 */

export interface HistoryParts {
  readonly service: SandboxService;
  readonly dns: DemoDns;
  readonly workspace: Workspace;
  readonly bot: Bot;
  /** Ada's passkey. */
  readonly root: Authenticator;
  /** Sets the clocks of the bot, the sandbox and the workspace to this many days ago. */
  readonly moveTo: (daysAgo: number) => void;
}

/** The history has its own channel, so that a new visitor's channel is empty. */
export const RESTAURANTS = 'C0RESTAURANTS';
const DAY_MS = 86_400_000;
export const HISTORY_DAYS = 30;

/** The names of the demo's mandate. The last one costs more than it allows. */
const HOLIDAY_NAMES = ['garden.rest', 'terrace.rest', 'summer.rest', 'garden.example'];
/** Days until they expire. The mandate renews them two weeks before, all on the same day. */
const HOLIDAY_DAYS = 33;
/** The policy requires signatures for orders of this name. */
const SIGNED_NAME = 'menu.example';
const NEW_NAME = 'brasserie.rest';

const POLICY = `
- rule_name: the menu is signed
  tasks: [charge, risk]
  names: [${SIGNED_NAME}]
  decision: approve
  approvers: [U0BOB, S0APPROVERS]
  signed: true
- rule_name: the kitchen is Alice’s
  tasks: [charge]
  names: [kitchen.rest]
  decision: approve
  approvers: [U0ALICE]
- rule_name: large sums are Ada’s
  tasks: [charge]
  names: ["*"]
  over: 100.00
  decision: approve
  approvers: [U0ADA]
`;

const PORTFOLIO = `name,owner,tags,note
cafe.rest,U0BOB,brand,The café’s own address
menu.example,U0CAROL,brand,
bar.rest,U0BOB,client-acme,
deli.rest,U0BOB,client-acme,
catering.rest,U0CAROL,client-catering,Ask before letting it lapse
`;

const OWNERLESS_NAME = 'mezze.rest';

export function addHolidayNames({ state, clock }: SandboxService): void {
  for (const name of HOLIDAY_NAMES)
    state.addDomain({ name, context: 4, expires: clock.realTime() + HOLIDAY_DAYS * DAY_MS });
}

/** Plays the thirty days, and sets the clock to the present. */
export async function playHistory(parts: HistoryParts): Promise<void> {
  const { workspace, bot, moveTo } = parts;
  const [bob, carol] = [
    new PersonActions(workspace, 'U0BOB', RESTAURANTS),
    new PersonActions(workspace, 'U0CAROL', RESTAURANTS),
  ];
  const approve = (order: Promise<() => Message>, approver: PersonActions) =>
    approveAndWait(workspace, order, approver);
  const renew = (person: PersonActions, names: string, reason: string, years = 1) =>
    person.requestOrder(names.split(' '), () =>
      person.command(`/domain renew ${names} ${years} -- ${reason}`),
    );

  const startedAt = new Date(Date.now() - HISTORY_DAYS * DAY_MS);
  await Promise.all([
    linkAccount(bob, SANDBOX_ACCOUNTS.bob),
    linkAccount(carol, SANDBOX_ACCOUNTS.frontdesk),
    bot.prices.save(diffPrices([], createPrices(startedAt)), 'U0ADA', startedAt),
  ]);
  await publishPolicy(parts);

  moveTo(28);
  const [contact] = SANDBOX_CONTACTS;
  const contacts = Object.fromEntries(['ownerc', 'adminc', 'techc'].map((role) => [role, String(contact)]));
  const nameServers = SANDBOX_NAMESERVERS.join('\n');
  await Promise.all([
    approve(renew(bob, 'tapas.rest', 'the lease runs on'), carol),
    approve(
      carol.requestOrder([NEW_NAME], () =>
        carol.fillIn(`/domain create ${NEW_NAME}`, { ...contacts, nameServers }),
      ),
      bob,
    ),
  ]);
  moveTo(24);
  await Promise.all([
    approve(renew(carol, 'lunch.rest', 'the second kitchen'), bob),
    setBudget(new PersonActions(workspace, 'U0ADA', RESTAURANTS)),
  ]);
  moveTo(19);
  await approve(renew(bob, 'ladle.rest', 'as every year'), carol);
  moveTo(13);
  const tavernOrder = await renew(carol, 'tavern.rest', 'two years are cheaper', 2);
  await Promise.all([
    bob.fillIn({ message: tavernOrder(), action: 'order_deny' }, { reason: 'The tavern closes in May' }),
    approve(renew(bob, 'saffron.rest soup.rest spoon.rest', 'client ACME paid'), carol),
    approve(renew(carol, 'sushi.rest', 'as every year'), bob),
  ]);
  await solveIncident(parts, bob);
  moveTo(4);
  await approve(renew(bob, 'ramen.rest', 'the shop stays'), carol);
  moveTo(1 / 24);
  await importNames(parts, bob);
  await Promise.all([
    approve(requestMandate(bob), carol),
    renew(bob, 'noodle.rest', 'before the prices rise'),
    renew(carol, 'pasta.rest', 'for the new menu', 2),
    renew(carol, 'kitchen.rest', 'the kitchen asked'),
    renew(bob, 'picnic.rest', 'for as long as possible', 6),
  ]);
  moveTo(0);
}

/** The first message to a visitor. */
export function welcome(workspace: Workspace): void {
  workspace
    .as('U0ADA')
    .say(
      'C0DOMAINS',
      'Hi <@U0ALICE>, welcome! Request domains here. Start with `/domain link`: everyone uses their own account. The guide at the top shows what comes next. The team’s other requests are in <#C0RESTAURANTS|restaurants>.',
    );
}

/** Renews what has become invalid because the demo was stopped for days or started at another port. */
export async function restoreAfterRestart(parts: HistoryParts): Promise<void> {
  const { workspace } = parts;
  const bob = new PersonActions(workspace, 'U0BOB', RESTAURANTS);
  await signCharterAgain(parts);
  const { blocks } = await bob.typeCommand('/domain mandates');
  if (JSON.stringify(blocks).includes('mandate_end')) return;
  await approveAndWait(workspace, requestMandate(bob), new PersonActions(workspace, 'U0CAROL', RESTAURANTS));
}

/** Approves an order as another person, and waits until it is carried out. */
async function approveAndWait(
  workspace: Workspace,
  order: Promise<() => Message>,
  approver: PersonActions,
): Promise<void> {
  const card = await order;
  await approver.click(card(), 'order_approve');
  await workspace.waitFor(() => (stateOf(card()) === 'SUCCEEDED' ? card() : undefined), {
    what: `an order of the history to be carried out: ${card().text}`,
    timeoutMs: MAX_WAIT_MS,
  });
}

type Account = Readonly<Record<'user' | 'password', string>> & { readonly context: number };

function linkAccount(person: PersonActions, { user, context, password }: Account): Promise<void> {
  return person.fillIn('/domain link', { user, context: String(context), password }, 'Linked:');
}

/** Ada adds the first passkey, Bob publishes the policy, and Ada signs it together with the protected settings. */
async function publishPolicy({ workspace, bot, root }: HistoryParts): Promise<void> {
  const [ada, bob] = [
    new PersonActions(workspace, 'U0ADA', RESTAURANTS),
    new PersonActions(workspace, 'U0BOB', RESTAURANTS),
  ];
  const clickWithPasskey = async (message: Message, action: string) =>
    signPage(root, requireAddress(await ada.clickAndWait(message, action)), `http://127.0.0.1:${bot.port}`);
  await clickWithPasskey(await ada.typeCommand('/domain key'), 'key_add');
  await bob.actAndWait(async () =>
    bob.fillIn(
      { message: await bob.typeCommand('/domain policy'), action: 'policy_upload' },
      { rules: POLICY },
    ),
  );
  await bob.clickAndWait(await bob.typeCommand('/domain policy'), 'policy_publish');
  await clickWithPasskey(await ada.typeCommand('/domain policy'), 'policy_confirm');
}

/**
 * Ada signs the policy and protected settings again if her signature no longer counts, because the demo was started at
 * another port.
 */
async function signCharterAgain({ workspace, bot, root }: HistoryParts): Promise<void> {
  const ada = new PersonActions(workspace, 'U0ADA', RESTAURANTS);
  const keys = await ada.typeCommand('/domain key');
  if (!JSON.stringify(keys.blocks).includes('charter_sign')) return;
  await signPage(
    root,
    requireAddress(await ada.clickAndWait(keys, 'charter_sign')),
    `http://127.0.0.1:${bot.port}`,
  );
}

/** A name was registered before its nameservers had its zone, which is an incident. A team member explains it. */
async function solveIncident(
  { workspace, dns, bot, moveTo }: HistoryParts,
  person: PersonActions,
): Promise<void> {
  // This machine can't run its own DNS.
  if (dns.sandbox === undefined) return;
  const findIncident = () =>
    workspace.messages('C0EXPIRY').find(({ metadata }) => metadata?.event_type === 'domain_incident');
  for (let daysAgo = 13; findIncident() === undefined && daysAgo > 8; daysAgo -= 1) {
    moveTo(daysAgo);
    await bot.catchUp();
  }
  const card = findIncident();
  if (card === undefined) return;
  await person.fillIn({ message: card, action: 'alert_ours' }, { reason: 'Its zone comes with the website' });
  dns.sandbox.world.serve(NEW_NAME, SANDBOX_NAMESERVERS, ['@ A 198.51.100.12']);
  // Two daily lookups must find that the name works again.
  for (const daysAgo of [7, 6]) {
    moveTo(daysAgo);
    await bot.catchUp();
  }
}

async function importNames({ bot, service }: HistoryParts, person: PersonActions): Promise<void> {
  const registered = new Set(service.state.charges.map(({ name }) => name));
  const domains = service.state
    .listDomains(SANDBOX_ACCOUNTS.alice.context)
    .filter(({ name }) => name !== SANDBOX_TRANSFERABLE_DOMAIN.name);
  const lines = domains
    // Registered names are watched automatically.
    .filter(({ name }) => !registered.has(name))
    .map(({ name, expires }) => `${name},${new Date(expires).toISOString().slice(0, 10)}`);
  await bot.expiry.importNames(
    lines.join('\n'),
    (changes) => bot.protectedChanges.changeReminders(changes, 'U0BOB', { channelId: '' }),
    async () => undefined,
  );
  const plan = await person.actAndWait(() => person.fillIn('/domain names import', { rows: PORTFOLIO }));
  await person.clickAndWait(plan, 'names_import_apply');
  const unassigned = domains.filter(
    ({ name }) => name !== OWNERLESS_NAME && !PORTFOLIO.includes(`\n${name},`),
  );
  const owners = unassigned.map(
    ({ name }, index) => [name, { owner: index % 2 === 0 ? 'U0BOB' : 'U0CAROL' }] as const,
  );
  await bot.protectedChanges.changeDetails(new Map(owners), 'U0BOB', { channelId: '' });
}

async function setBudget(admin: PersonActions): Promise<void> {
  const message = await admin.typeCommand('/domain spend');
  await admin.fillIn({ message, action: 'budget_add' }, { amount: '1000.00', span: 'month' });
}

function requestMandate(bob: PersonActions): Promise<() => Message> {
  return bob.requestOrder(HOLIDAY_NAMES, async () =>
    bob.fillIn(
      { message: await bob.typeCommand('/domain mandates'), action: 'mandate_add' },
      {
        mandate_names: HOLIDAY_NAMES.join('\n'),
        max_price: '20.00',
        max_total: '100.00',
        span: 'year',
        until: new Date(Date.now() + 300 * DAY_MS).toISOString().slice(0, 10),
        notice: '14',
        account: 'mine',
        reason: 'I am on holiday',
      },
    ),
  );
}

function createPrices(startedAt: Date): readonly Price[] {
  const price = (task: Price['task'], minor: number, zone = 'rest'): Price => ({
    ...{ zone, task },
    period: 1,
    amount: { currency: 'EUR', minor },
    validFrom: `${startedAt.toISOString().slice(0, 7)}-01`,
    source: 'Example contract',
  });
  return [
    price('create', 2_400),
    price('renew', 1_800),
    price('transfer', 1_800),
    price('restore', 8_000),
    price('renew', 4_500, 'example'),
  ];
}

function stateOf({ metadata }: Message): unknown {
  return metadata?.event_payload['state'];
}

function requireAddress({ text }: Message): string {
  const address = findPageAddress(text);
  if (address === undefined) throw new Error(`no address in: ${text}`);
  return address;
}
