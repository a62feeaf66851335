/* Variants of records, as real registries format them. All of them have the same facts. */

type Members = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === 'string';
const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter(isText) : []);
const objectsOf = (value: unknown): readonly Members[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : [];
const toEppStatus = (status: string) =>
  status === 'active' ? 'ok' : status.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase());

const mapStatuses = (write: (status: string) => string) => (record: Members) => ({
  ...record,
  ...(Array.isArray(record['status']) && { status: textsOf(record['status']).map(write) }),
});
const withEvents = (write: (events: readonly Members[]) => readonly unknown[]) => (record: Members) => ({
  ...record,
  events: write(objectsOf(record['events'])),
});
const withNameservers = (write: (host: string) => unknown) => (record: Members) => ({
  ...record,
  nameservers: objectsOf(record['nameservers']).map(({ ldhName }) => write(String(ldhName))),
});

export const RECORD_FORMS: readonly ((record: Members) => Members)[] = [
  (record) => record,
  (record) => ({ ...record, ldhName: String(record['ldhName']).toUpperCase() }),
  (record) => ({ ...record, ldhName: `${record['ldhName']}.` }),
  mapStatuses(toEppStatus),
  mapStatuses((status) => `https://icann.org/epp#${toEppStatus(status)}`),
  mapStatuses((status) => `${toEppStatus(status)} https://www.icann.org/epp#${toEppStatus(status)}`),
  mapStatuses((status) => `${toEppStatus(status)} (http://icann.org/epp#${toEppStatus(status)})`),
  mapStatuses((status) => status.toUpperCase().replaceAll(' ', '_')),
  mapStatuses((status) => status.replaceAll(' ', '-')),
  (record) => {
    const [only, ...more] = textsOf(record['status']);
    return only === undefined || more.length > 0 ? record : { ...record, status: only };
  },
  withEvents((events) =>
    events.map(({ eventAction, ...event }) => ({
      eventAction: String(eventAction).toUpperCase().replaceAll(' ', '_'),
      ...event,
    })),
  ),
  withEvents((events) => [
    'none',
    { eventAction: 'expiration', eventDate: 'never' },
    ...events,
    { eventAction: 'expiration', eventDate: null },
    { eventAction: 'locked' },
  ]),
  withEvents((events) => events.toReversed()),
  withNameservers((host) => `${host.toUpperCase()}.`),
  withNameservers((host) => ({
    objectClassName: 'nameserver',
    ldhName: host.toUpperCase(),
    ipAddresses: 'none',
  })),
  (record) => ({ ...record, port43: 43, registry_serial: 1e300, remarks: null, notices: 'none' }),
  (record) => {
    const [only, ...more] = objectsOf(record['entities']);
    return only === undefined || more.length > 0 ? record : { ...record, entities: only };
  },
];
