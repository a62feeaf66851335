import { passwordGenerated } from '../answer.ts';
import type { PreregRecord, RedirectRecord } from '../model.ts';
import {
  PREREG_EXTRA_KEYS,
  type PreregExtraKey,
  preregExtras,
  searchPreregs,
} from '../operations/preregs.ts';
import { updateRedirect } from '../operations/redirects.ts';
import { updateSslContact } from '../operations/ssl-contacts.ts';
import { createUser } from '../operations/users.ts';
import { Refusal } from '../refusal.ts';
import { type Route, route } from './route.ts';
import * as shapes from './shapes.ts';
import { withOffset } from './timestamp.ts';

/** Users, redirects, SSL contacts and preregistrations (service API, section Endpoints). */
export const OBJECT_ROUTES: readonly Route[] = [
  route(
    { method: 'POST', path: '/user', task: 'user.create' },
    shapes.userCreate,
    ({ desk, caller, body }) => {
      const { parent, ...input } = body;
      const { user, context } = input;
      const { generated } = createUser(desk, caller, { ...input, superior: parent });
      return {
        object: { type: 'User', value: `${user}, ${context}`, data: { context, user } },
        ...(generated !== undefined && { notices: [passwordGenerated(generated)] }),
      };
    },
  ),

  route(
    { method: 'PUT', path: '/redirect/*', task: 'redirect.update' },
    shapes.redirectUpdate,
    ({ desk, caller, name, body }) => {
      if (body.source !== name)
        throw new Refusal('conflict', 'source: differs from the path, and cannot change');
      const redirect = updateRedirect(desk, caller, { ...body, type: 'domain', mode: 'http' });
      return { object: { type: 'Redirect', value: name, summary: 1, data: redirectData(redirect) } };
    },
  ),

  route(
    { method: 'PUT', path: '/sslcontact/*', task: 'sslContact.update' },
    shapes.sslContactUpdate,
    ({ desk, caller, name, body }) => {
      updateSslContact(desk, caller, name, body);
      return { object: { type: 'SslContact', value: name } };
    },
  ),

  route(
    { method: 'POST', path: '/domainPrereg/_search', task: 'prereg.search', query: ['keys[]'] },
    shapes.preregSearch,
    ({ desk, caller, query, body }) => {
      const extras = extraKeys(query.getAll('keys[]'));
      const filters = body.filters.map(({ key, value }) => ({
        key,
        matches: (is: string) => is === String(value),
      }));
      const { summary, records } = searchPreregs(desk, caller, { ...body.view, filters });
      const data = records.map((record) => preregData(record, extras));
      return { object: { type: 'DomainPrereg', summary }, data };
    },
  ),
];

function redirectData(redirect: RedirectRecord): Record<string, string> {
  const { source, target, type, mode, domain } = redirect;
  return {
    created: withOffset(redirect.created),
    updated: withOffset(redirect.updated),
    source,
    target,
    type: type.toUpperCase(),
    mode: mode.toUpperCase(),
    domain,
  };
}

function extraKeys(asked: readonly string[]): readonly PreregExtraKey[] {
  const unknown = asked.find((key) => !PREREG_EXTRA_KEYS.some((known) => known === key));
  if (unknown !== undefined) {
    throw new Refusal('malformed', `query: keys[] is one of ${PREREG_EXTRA_KEYS.join(', ')}, not ${unknown}`);
  }
  return PREREG_EXTRA_KEYS.filter((key) => asked.includes(key));
}

function preregData(record: PreregRecord, extras: readonly PreregExtraKey[]): Record<string, unknown> {
  const { name, owner, status, phase, orderReference, period, recommended, confirmed, config } = record;
  const extra = preregExtras(record);
  return {
    name,
    created: withOffset(record.created),
    updated: withOffset(record.updated),
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
      confirmationStart: withOffset(config.confirmation_start),
      confirmationEnd: withOffset(config.confirmation_end),
      periodStart: withOffset(config.period_start),
      periodEnd: withOffset(config.period_end),
    },
    recommended,
    confirmed,
    ...(extras.includes('tmch_mark') && { tmchMark: extra.tmch_mark }),
    ...(extras.includes('extension') && { extension: extra.extension }),
    ...(extras.includes('nsentry') && { nsentry: extra.nsentry }),
  };
}
