import type { RdapAnswer } from '../../../src/registry/rdap/client.ts';
import { seededRandom } from '../../support/seeded.ts';

/*
 * Random lives of names: registry and DNS lookups, orders, and people's actions. Each name has a true state.
 * Responses show it as real registries and resolvers do: in various forms, outdated or incomplete.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const ORDER_TASKS = ['create', 'renew', 'transfer', 'delete', 'restore', 'nameservers'] as const;
type SequenceTask = (typeof ORDER_TASKS)[number];

export type Step = { readonly at: Date } & (
  | { readonly kind: 'registry'; readonly answer: RdapAnswer }
  | { readonly kind: 'dns'; readonly nameServers: readonly string[] | undefined; readonly isSigned: boolean }
  /** An order through the bot. If its response was lost, the replay looks for evidence at the end. */
  | {
      readonly kind: 'order';
      readonly task: SequenceTask;
      readonly years: number;
      readonly nameServers: readonly string[];
      readonly isLost: boolean;
    }
  /** A person enters a date. */
  | { readonly kind: 'date'; readonly expiresAt: Date }
  /** A person confirms that the team made a transfer. */
  | { readonly kind: 'transfer_confirmed' }
);

export interface Sequence {
  readonly name: string;
  readonly steps: readonly Step[];
}

interface TrueState {
  readonly registrar: string;
  readonly expiresAt: number;
  readonly registeredAt: number;
  readonly transferredAt: number | undefined;
  readonly changedAt: number;
  readonly deletedAt: number | undefined;
  readonly statuses: readonly string[];
  readonly nameServers: readonly string[];
  readonly isSigned: boolean;
  readonly isRegistered: boolean;
}

const START = Date.UTC(2026, 10, 22);
/** Zones with and without documented periods, and unknown zones. */
const ZONES = ['com', 'rest', 'bar', 'example', 'de'];
const REGISTRARS = ['Ours Registrar Ltd', 'OURS REGISTRAR, LTD.', 'Other Registrar GmbH', 'Third Names Inc'];
const NAMESERVER_SETS = [
  ['ns1.dns.example', 'ns2.dns.example'],
  ['ns1.other.example', 'ns2.other.example'],
  ['ns1.thief.example'],
];
const LOCK_STATUSES = ['client transfer prohibited', 'client delete prohibited'];

/** Creates a random sequence. The same seed always gives the same sequence. */
export function createSequence(seed: number): Sequence {
  const random = seededRandom(seed);
  const pickBelow = (limit: number) => Math.floor(random() * limit);
  const chance = (part: number) => random() < part;
  const oneOf = <T>(values: readonly T[]): T => {
    const [value] = values.slice(pickBelow(values.length));
    if (value === undefined) throw new Error('no values to choose from');
    return value;
  };
  const name = `cafe${seed}.${oneOf(ZONES)}`;
  let now = START + pickBelow(30) * DAY_MS;
  let state: TrueState = {
    registrar: oneOf(REGISTRARS.slice(0, 2)),
    expiresAt: now + (20 + pickBelow(500)) * DAY_MS,
    registeredAt: now - (100 + pickBelow(1_000)) * DAY_MS,
    transferredAt: undefined,
    changedAt: now - 50 * DAY_MS,
    deletedAt: undefined,
    statuses: ['active', ...LOCK_STATUSES],
    nameServers: NAMESERVER_SETS[0] ?? [],
    isSigned: chance(0.3),
    isRegistered: !chance(0.05),
  };
  let previousState = state;
  const steps: Step[] = [];

  const changeState = (changes: Partial<TrueState>) => {
    previousState = state;
    state = { ...state, ...changes, changedAt: now };
  };
  const buildBody = (shown: TrueState) => buildRecord(name, shown, { chance, oneOf });
  const createAnswer = (): RdapAnswer => {
    const origin = { server: 'rdap.example', isSecure: !chance(0.05) };
    if (chance(0.06)) {
      const code = oneOf(['busy', 'http_status'] as const);
      return {
        kind: 'unavailable',
        problem: { code },
        ...(chance(0.5) && { retryAfterMs: pickBelow(5) * HOUR_MS }),
      };
    }
    if (chance(0.03)) return { kind: 'answered', body: oneOf<unknown>([{}, [], 'no', null]), ...origin };
    if (chance(0.02))
      return { kind: 'answered', body: buildRecord('other.com', state, { chance, oneOf }), ...origin };
    const shown = chance(0.12) ? previousState : state;
    return shown.isRegistered
      ? { kind: 'answered', body: buildBody(shown), ...origin }
      : { kind: 'not_found', ...origin };
  };
  const addLookups = () => {
    const times = 1 + pickBelow(3);
    for (let lookupIndex = 0; lookupIndex < times; lookupIndex += 1) {
      steps.push({ kind: 'registry', at: new Date(now), answer: createAnswer() });
      if (chance(0.5)) {
        const nameServers = chance(0.08)
          ? undefined
          : chance(0.1)
            ? previousState.nameServers
            : state.nameServers;
        steps.push({ kind: 'dns', at: new Date(now), nameServers, isSigned: state.isSigned });
      }
      now += chance(0.7) ? 30 * 60_000 : pickBelow(72) * HOUR_MS;
    }
  };
  const addOrder = (task: SequenceTask, isLost: boolean, isDone: boolean) => {
    const years = 1 + pickBelow(2);
    const nameServers = oneOf(NAMESERVER_SETS.slice(0, 2));
    steps.push({ kind: 'order', at: new Date(now), task, years, nameServers, isLost });
    if (isDone) changeState(getTaskEffect(task, state, { now, years, nameServers }));
  };

  addLookups();
  const turns = 1 + pickBelow(4);
  for (let turn = 0; turn < turns; turn += 1) {
    now += pickBelow(60) * DAY_MS;
    const event = pickBelow(14);
    if (event < 4) addOrder(oneOf(ORDER_TASKS), false, !chance(0.1));
    else if (event === 4) changeState({ expiresAt: addYear(state.expiresAt) });
    else if (event === 5)
      changeState({
        registrar: oneOf(REGISTRARS.slice(2)),
        ...(chance(0.6) && { transferredAt: now, expiresAt: addYear(state.expiresAt) }),
        ...(chance(0.5) && { nameServers: NAMESERVER_SETS[2] ?? [], statuses: ['active'] }),
      });
    else if (event === 6) changeState({ nameServers: oneOf(NAMESERVER_SETS), isSigned: chance(0.5) });
    else if (event === 7)
      changeState({ statuses: oneOf([['active'], ['pending transfer'], ['active', ...LOCK_STATUSES]]) });
    else if (event === 8)
      changeState({ deletedAt: now, statuses: [oneOf(['redemption period', 'pending delete'])] });
    else if (event === 9) changeState({ isRegistered: !state.isRegistered, registeredAt: now });
    else if (event === 10) {
      now = Math.max(now, state.expiresAt + pickBelow(40) * DAY_MS);
      changeState({ expiresAt: addYear(state.expiresAt), statuses: ['active', 'auto renew period'] });
    } else if (event === 11) {
      steps.push({ kind: 'date', at: new Date(now), expiresAt: new Date(now + pickBelow(400) * DAY_MS) });
    } else if (event === 12) steps.push({ kind: 'transfer_confirmed', at: new Date(now) });
    addLookups();
  }
  now += pickBelow(8) * DAY_MS;
  addOrder(oneOf(ORDER_TASKS), true, chance(0.7));
  now += chance(0.7) ? pickBelow(50) * 60_000 : pickBelow(10) * DAY_MS;
  if (chance(0.3)) addLookups();
  steps.push({ kind: 'registry', at: new Date(now), answer: createAnswer() });
  return { name, steps };
}

function getTaskEffect(
  task: SequenceTask,
  state: TrueState,
  order: { readonly now: number; readonly years: number; readonly nameServers: readonly string[] },
): Partial<TrueState> {
  const { now, years, nameServers } = order;
  const addYears = (from: number) => Array.from({ length: years }).reduce<number>((at) => addYear(at), from);
  switch (task) {
    case 'create':
      return {
        isRegistered: true,
        registeredAt: now,
        registrar: 'Ours Registrar Ltd',
        expiresAt: addYears(now),
        deletedAt: undefined,
        statuses: ['active'],
        nameServers,
      };
    case 'renew':
      // Registries round dates differently.
      return { expiresAt: addYears(state.expiresAt) - (years === 2 ? 20 * HOUR_MS : 0) };
    case 'transfer':
      return {
        registrar: 'Ours Registrar Ltd',
        transferredAt: now,
        expiresAt: addYear(state.expiresAt),
        nameServers,
      };
    case 'delete':
      return { deletedAt: now, statuses: ['redemption period'] };
    case 'restore':
      return { deletedAt: undefined, statuses: ['active'] };
    case 'nameservers':
      return { nameServers, isSigned: false };
  }
}

function addYear(moment: number): number {
  const date = new Date(moment);
  date.setUTCFullYear(date.getUTCFullYear() + 1);
  return date.getTime();
}

interface Choices {
  readonly chance: (part: number) => boolean;
  readonly oneOf: <T>(values: readonly T[]) => T;
}

/** Builds a name's record (RFC 9083) with random omissions, orders and spellings. */
function buildRecord(name: string, state: TrueState, { chance, oneOf }: Choices): unknown {
  const buildEvents = (eventAction: string, at: number | undefined) =>
    at === undefined ? [] : [{ eventAction, eventDate: new Date(at).toISOString() }];
  const registrar = {
    objectClassName: 'entity',
    roles: ['registrar'],
    ...(chance(0.5) && {
      publicIds: [{ type: 'IANA Registrar ID', identifier: String(1_000 + state.registrar.length) }],
    }),
    vcardArray: [
      'vcard',
      [
        ['version', {}, 'text', '4.0'],
        ['fn', {}, 'text', state.registrar],
      ],
    ],
  };
  const registrant = {
    objectClassName: 'entity',
    roles: ['registrant'],
    vcardArray: [
      'vcard',
      [['fn', {}, 'text', chance(0.3) ? 'REDACTED FOR PRIVACY' : `Owner at ${state.registrar}`]],
    ],
  };
  const hasExpiry = !chance(0.04);
  const events = [
    ...(hasExpiry ? buildEvents('expiration', state.expiresAt) : []),
    ...buildEvents('registration', state.registeredAt),
    ...buildEvents('last changed', state.changedAt),
    ...(chance(0.7) ? buildEvents('transfer', state.transferredAt) : []),
    ...(chance(0.5) ? buildEvents('deletion', state.deletedAt) : []),
    ...(chance(0.01) ? [{ eventAction: 'expiration', eventDate: 'soon' }] : []),
  ];
  const formatStatus = (status: string) =>
    chance(0.2) ? status.replace(/ ([a-z])/g, (_, letter: string) => letter.toUpperCase()) : status;
  return {
    objectClassName: 'domain',
    ldhName: chance(0.3) ? name.toUpperCase() : name,
    events: chance(0.3) ? events.toReversed() : events,
    ...(!chance(0.05) && { status: state.statuses.map(formatStatus) }),
    ...(!chance(0.1) && {
      entities: oneOf([[registrar, registrant], [registrant, registrar], [registrar], [registrant]]),
    }),
    ...(!chance(0.05) && {
      nameservers: state.nameServers.map((ldhName) => ({ objectClassName: 'nameserver', ldhName })),
    }),
    ...(!chance(0.1) && { secureDNS: { delegationSigned: state.isSigned } }),
  };
}
