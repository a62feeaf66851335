import { createPasswordNotice } from '../answer.ts';
import type { PreregRecord, RedirectRecord } from '../model.ts';
import {
  buildPreregExtras,
  PREREG_EXTRA_KEYS,
  type PreregExtraKey,
  searchPreregs,
} from '../operations/preregs.ts';
import { updateRedirect } from '../operations/redirects.ts';
import { updateSslContact } from '../operations/ssl-contacts.ts';
import { createUser } from '../operations/users.ts';
import { Refusal } from '../refusal.ts';
import { createRoute, type Route } from './route.ts';
import * as shapes from './shapes.ts';
import { formatTimestamp } from './timestamp.ts';

/** “Endpoints” in the service's API documentation. */
export const OBJECT_ROUTES: readonly Route[] = [
  createRoute(
    { method: 'POST', path: '/user', task: 'user.create' },
    shapes.userCreateSchema,
    ({ service, caller, body }) => {
      const { parent, ...input } = body;
      const { user, context } = input;
      const { generatedPassword } = createUser(service, caller, { ...input, parent });
      return {
        object: { type: 'User', value: `${user}, ${context}`, data: { context, user } },
        ...(generatedPassword !== undefined && { notices: [createPasswordNotice(generatedPassword)] }),
      };
    },
  ),

  createRoute(
    { method: 'PUT', path: '/redirect/*', task: 'redirect.update' },
    shapes.redirectUpdateSchema,
    ({ service, caller, name, body }) => {
      if (body.source !== name) throw new Refusal('conflict', 'source: must match the path');
      const redirect = updateRedirect(service, caller, { ...body, type: 'domain', mode: 'http' });
      return { object: { type: 'Redirect', value: name, summary: 1, data: formatRedirect(redirect) } };
    },
  ),

  createRoute(
    { method: 'PUT', path: '/sslcontact/*', task: 'sslContact.update' },
    shapes.sslContactUpdateSchema,
    ({ service, caller, name, body }) => {
      updateSslContact(service, caller, name, body);
      return { object: { type: 'SslContact', value: name } };
    },
  ),

  createRoute(
    { method: 'POST', path: '/domainPrereg/_search', task: 'prereg.search', queryParameters: ['keys[]'] },
    shapes.preregSearchSchema,
    ({ service, caller, query, body }) => {
      const extraKeys = readExtraKeys(query.getAll('keys[]'));
      const filters = body.filters.map(({ key, value }) => ({
        key,
        matches: (actual: string) => actual === String(value),
      }));
      const { summary, records } = searchPreregs(service, caller, { ...body.view, filters });
      const data = records.map((record) => formatPrereg(record, extraKeys));
      return { object: { type: 'DomainPrereg', summary }, data };
    },
  ),
];

function formatRedirect(redirect: RedirectRecord): Record<string, string> {
  const { source, target, type, mode, domain } = redirect;
  return {
    created: formatTimestamp(redirect.created),
    updated: formatTimestamp(redirect.updated),
    source,
    target,
    type: type.toUpperCase(),
    mode: mode.toUpperCase(),
    domain,
  };
}

function readExtraKeys(requestedKeys: readonly string[]): readonly PreregExtraKey[] {
  const unknownKey = requestedKeys.find((key) => !PREREG_EXTRA_KEYS.some((known) => known === key));
  if (unknownKey !== undefined) {
    throw new Refusal(
      'malformed',
      `query: keys[] must be one of ${PREREG_EXTRA_KEYS.join(', ')}, not ${unknownKey}`,
    );
  }
  return PREREG_EXTRA_KEYS.filter((key) => requestedKeys.includes(key));
}

function formatPrereg(record: PreregRecord, extraKeys: readonly PreregExtraKey[]): Record<string, unknown> {
  const { name, owner, status, phase, orderReference, period, recommended, confirmed, config } = record;
  const extraValues = buildPreregExtras(record);
  return {
    name,
    created: formatTimestamp(record.created),
    updated: formatTimestamp(record.updated),
    owner,
    updater: owner,
    ownerc: { id: record.ownerc },
    zonec: { id: record.zonec },
    adminc: { id: record.adminc },
    techc: { id: record.techc },
    nameServers: record.nameServers.map((server) => ({ name: server })),
    status,
    phase,
    orderReference,
    period,
    preregConfig: {
      confirmationStart: formatTimestamp(config.confirmation_start),
      confirmationEnd: formatTimestamp(config.confirmation_end),
      periodStart: formatTimestamp(config.period_start),
      periodEnd: formatTimestamp(config.period_end),
    },
    recommended,
    confirmed,
    ...(extraKeys.includes('tmch_mark') && { tmchMark: extraValues.tmch_mark }),
    ...(extraKeys.includes('extension') && { extension: extraValues.extension }),
    ...(extraKeys.includes('nsentry') && { nsentry: extraValues.nsentry }),
  };
}
