/* Functions that format an RDAP record in the ways of real registries, without changing its content. */

type JsonObject = Readonly<Record<string, unknown>>;

const isString = (value: unknown): value is string => typeof value === 'string';
const filterStrings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(isString) : [];
const filterObjects = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item !== null) : [];
const toEppStatus = (status: string) =>
  status === 'active' ? 'ok' : status.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase());

const mapStatuses = (format: (status: string) => string) => (record: JsonObject) => ({
  ...record,
  ...(Array.isArray(record['status']) && { status: filterStrings(record['status']).map(format) }),
});
const mapEvents =
  (format: (events: readonly JsonObject[]) => readonly unknown[]) => (record: JsonObject) => ({
    ...record,
    events: format(filterObjects(record['events'])),
  });
const mapNameservers = (format: (host: string) => unknown) => (record: JsonObject) => ({
  ...record,
  nameservers: filterObjects(record['nameservers']).map(({ ldhName }) => format(String(ldhName))),
});

export const RECORD_TRANSFORMS: readonly ((record: JsonObject) => JsonObject)[] = [
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
    const [only, ...more] = filterStrings(record['status']);
    return only === undefined || more.length > 0 ? record : { ...record, status: only };
  },
  mapEvents((events) =>
    events.map(({ eventAction, ...event }) => ({
      eventAction: String(eventAction).toUpperCase().replaceAll(' ', '_'),
      ...event,
    })),
  ),
  mapEvents((events) => [
    'none',
    { eventAction: 'expiration', eventDate: 'never' },
    ...events,
    { eventAction: 'expiration', eventDate: null },
    { eventAction: 'locked' },
  ]),
  mapEvents((events) => events.toReversed()),
  mapNameservers((host) => `${host.toUpperCase()}.`),
  mapNameservers((host) => ({
    objectClassName: 'nameserver',
    ldhName: host.toUpperCase(),
    ipAddresses: 'none',
  })),
  (record) => ({ ...record, port43: 43, registry_serial: 1e300, remarks: null, notices: 'none' }),
  (record) => {
    const [only, ...more] = filterObjects(record['entities']);
    return only === undefined || more.length > 0 ? record : { ...record, entities: only };
  },
];
