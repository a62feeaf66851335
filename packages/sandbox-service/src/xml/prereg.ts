import type { PreregRecord } from '../model.ts';
import type { Caller, ServiceState } from '../operations/caller.ts';
import {
  buildPreregExtras,
  formatServiceTime,
  PREREG_EXTRA_KEYS,
  PREREG_FILTER_KEYS,
  PREREG_ORDER_KEYS,
  type PreregSearch,
  searchPreregs,
} from '../operations/preregs.ts';
import { readChildren, readText, readTexts, type XmlElement, type XmlMarkup, xmlElement } from './codec.ts';
import { readInteger, readOneOf } from './request.ts';

/* Task 0110005 (“Preregistration search” in the service's API documentation). */

/** Elements that every record has. */
const DEFAULT_KEYS = [
  'adminc',
  'recommended',
  'confirmed',
  'created',
  'name',
  'nserver',
  'order_reference',
  'owner',
  'period',
  'prereg_config',
  'phase',
  'status',
  'techc',
  'updated',
  'updater',
] as const;
const SELECTABLE_KEYS = ['ownerc', 'zonec', ...PREREG_EXTRA_KEYS] as const;
type RecordKey = (typeof DEFAULT_KEYS)[number] | (typeof SELECTABLE_KEYS)[number];

/** The page size if the task has no `view`, or the view has no `limit`. */
const DEFAULT_LIMIT = 20;

export function handlePreregSearch(
  service: ServiceState,
  caller: Caller,
  task: XmlElement,
): readonly XmlMarkup[] {
  const getChildren = readChildren(task, {
    code: 'one',
    view: 'optional',
    where: 'optional',
    key: 'many',
    order: 'optional',
  });
  const keys = getChildren('key').map((element) =>
    readOneOf(element.name, readText(element), [...DEFAULT_KEYS, ...SELECTABLE_KEYS]),
  );
  const [order] = getChildren('order').map(readOrder);
  const [filters = []] = getChildren('where').map(readWhere);
  const [view = { children: false, offset: 0, limit: DEFAULT_LIMIT }] = getChildren('view').map(readView);
  const { summary, records } = searchPreregs(service, caller, { ...view, filters, orderBy: order });
  const shownKeys = new Set<RecordKey>([...DEFAULT_KEYS, ...keys]);
  return [xmlElement('summary', summary), ...records.map((record) => buildRecordElement(record, shownKeys))];
}

function readView(view: XmlElement): Pick<PreregSearch, 'children' | 'offset' | 'limit'> {
  const texts = readTexts(view, ['children', 'offset', 'limit']);
  const childrenText = readOneOf('children', texts.optional('children') ?? '0', ['0', '1', 'false', 'true']);
  return {
    children: childrenText === '1' || childrenText === 'true',
    offset: readInteger('offset', texts.optional('offset') ?? '0'),
    limit: readInteger('limit', texts.optional('limit') ?? String(DEFAULT_LIMIT)),
  };
}

function readWhere(where: XmlElement): PreregSearch['filters'] {
  return readChildren(where, { and: 'many' })('and').map((condition) => {
    const texts = readTexts(condition, ['key', 'operator', 'value']);
    readOneOf('operator', texts.required('operator'), ['like']);
    return {
      key: readOneOf('key', texts.required('key'), PREREG_FILTER_KEYS),
      matches: createLikeMatcher(texts.required('value')),
    };
  });
}

/** `%` and `*` match any text. A pattern without them must equal the whole value. Case is ignored. */
function createLikeMatcher(pattern: string): (value: string) => boolean {
  const parts = pattern.toLowerCase().split(/[%*]+/);
  return (value) => {
    let rest = value.toLowerCase();
    const [first = '', ...others] = parts;
    if (!rest.startsWith(first)) return false;
    rest = rest.slice(first.length);
    const last = others.pop();
    if (last === undefined) return rest === '';
    for (const part of others) {
      const index = rest.indexOf(part);
      if (index === -1) return false;
      rest = rest.slice(index + part.length);
    }
    return rest.endsWith(last);
  };
}

function readOrder(order: XmlElement): NonNullable<PreregSearch['orderBy']> {
  const texts = readTexts(order, ['key', 'mode']);
  readOneOf('mode', texts.required('mode'), ['asc']);
  return readOneOf('key', texts.required('key'), PREREG_ORDER_KEYS);
}

function buildRecordElement(record: PreregRecord, shownKeys: ReadonlySet<RecordKey>): XmlMarkup {
  const ownerElements = [xmlElement('context', record.owner.context), xmlElement('user', record.owner.user)];
  const buildContactElements = (key: 'ownerc' | 'zonec' | 'adminc' | 'techc'): XmlMarkup[] => [
    xmlElement(key, xmlElement('id', record[key])),
  ];
  const configElements = Object.entries(record.config).map(([key, time]) =>
    xmlElement(key, formatServiceTime(time)),
  );
  const extraValues = buildPreregExtras(record);
  const buildExtraElements = (key: keyof typeof extraValues): XmlMarkup[] => [
    xmlElement(key, ...Object.entries(extraValues[key]).map(([name, value]) => xmlElement(name, value))),
  ];
  const elements: Record<RecordKey, readonly XmlMarkup[]> = {
    name: [xmlElement('name', record.name)],
    created: [xmlElement('created', formatServiceTime(record.created))],
    updated: [xmlElement('updated', formatServiceTime(record.updated))],
    owner: [xmlElement('owner', ...ownerElements)],
    updater: [xmlElement('updater', ...ownerElements)],
    ownerc: buildContactElements('ownerc'),
    zonec: buildContactElements('zonec'),
    adminc: buildContactElements('adminc'),
    techc: buildContactElements('techc'),
    nserver: record.nameServers.map((server) => xmlElement('nserver', xmlElement('name', server))),
    status: [xmlElement('status', record.status)],
    phase: [xmlElement('phase', record.phase)],
    order_reference: [xmlElement('order_reference', record.orderReference)],
    period: [xmlElement('period', record.period)],
    prereg_config: [xmlElement('prereg_config', ...configElements)],
    recommended: [xmlElement('recommended', record.recommended)],
    confirmed: [xmlElement('confirmed', record.confirmed)],
    tmch_mark: buildExtraElements('tmch_mark'),
    extension: buildExtraElements('extension'),
    nsentry: buildExtraElements('nsentry'),
  };
  const content = [...DEFAULT_KEYS, ...SELECTABLE_KEYS]
    .filter((key) => shownKeys.has(key))
    .flatMap((key) => elements[key]);
  return xmlElement('domain_prereg', ...content);
}
