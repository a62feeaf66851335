import { expect, test } from 'vitest';
import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import type { Needs } from '../../../src/slack/capability.ts';
import { NO_SERVICE } from '../../../src/slack/help/help.view.ts';
import { authorize } from '../../../src/slack/inbound/authorize.ts';
import { ACTIONS, COMMANDS, FORMS, TASK_MENU } from '../../../src/slack/index.ts';
import { slackContextWith } from '../../support/context.ts';

/* Commands, forms and buttons that need a domain service. All others work without one. */

const NEED_SERVICE = {
  commands: [
    ...['link', 'unlink', 'whoami', 'use', 'create', 'transfer', 'renew', 'restore', 'delete', 'nameservers'],
    ...[
      'authcode',
      'owner-change',
      'redirect',
      'ssl-contact',
      'prereg',
      'user',
      'bulk',
      'presets',
      'mandates',
    ],
  ],
  forms: [
    ...['task_menu', 'link', 'create', 'transfer', 'renew', 'restore', 'delete', 'nameservers', 'authcode'],
    ...[
      'owner-change',
      'redirect',
      'ssl-contact',
      'prereg',
      'user',
      'bulk',
      'preset',
      'mandate',
      'renew_many',
    ],
    ...['confirm', 'approve', 'break_glass'],
  ],
  actions: [
    ...['home_link', 'whoami_details', 'method', 'type', 'mode', 'interface', 'operator', 'order', 'kind'],
    ...[
      'prereg_next',
      'prereg_previous',
      'prereg_open',
      'names_renew',
      'preset',
      'preset_add',
      'preset_edit',
    ],
    ...['preset_delete', 'presets_next', 'presets_previous', 'order_approve', 'order_approve_comment'],
    ...['order_break_glass', 'order_confirm', 'order_retry', 'order_undo', 'order_sign', 'order_resume'],
    ...['mandate_add', 'mandates_next', 'mandates_previous'],
    ...['reminder_renew', 'reminder_restore', 'reminder_renew_many'],
  ],
};

const delivery = {
  ...{ userId: 'U0ADA', homeTeamId: 'T1', channelId: 'C1', threadTs: undefined, triggerId: 't' },
  ...{ isInModal: false, deliveryId: 'd', responseUrl: undefined },
  acknowledgement: { send: () => undefined, isLate: false, arrivedAt: 0 },
};

/** For an admin without an account. */
async function isRefused(needs: Needs, hasService: boolean): Promise<boolean> {
  const context = slackContextWith({
    ...{ hasService, admins: [], orgId: undefined },
    accounts: { findActive: async () => undefined, findDefault: async () => undefined },
    directory: { loadPerson: async (id) => ({ id, isMember: true, isAdmin: true, isConfirmed: true }) },
    expiry: { find: async () => undefined },
  });
  const admission = await authorize(context, delivery, { needs });
  return 'refusal' in admission && admission.refusal === NO_SERVICE;
}

test.each([
  ['U0CAROL', true, true],
  ['U0BOB', true, false],
  ['U0BOB', false, true],
])(
  'an owner’s button for %s without an account (service: %s) is allowed: %s',
  async (userId, hasService, isAllowed) => {
    const context = slackContextWith({
      ...{ hasService, admins: [], orgId: undefined },
      accounts: { findActive: async () => undefined, findDefault: async () => undefined },
      directory: { loadPerson: async (id) => ({ id, isMember: true, isAdmin: true, isConfirmed: true }) },
      expiry: {
        find: async (name) => ({ ...createWatchedDomain(name, 'U0ADA', new Date()), owner: 'U0CAROL' }),
      },
    });
    const precondition = { needs: 'linked_or_owner', name: 'cafe.rest' } as const;
    expect('interaction' in (await authorize(context, { ...delivery, userId }, precondition))).toBe(
      isAllowed,
    );
  },
);

async function listRefused(
  all: ReadonlyMap<string, { readonly needs: Needs }>,
  hasService: boolean,
): Promise<string[]> {
  const found = await Promise.all(
    [...all].map(async ([name, { needs }]) => ((await isRefused(needs, hasService)) ? [name] : [])),
  );
  return found.flat().sort();
}

test.each([
  ['commands', COMMANDS, NEED_SERVICE.commands],
  ['forms', FORMS, NEED_SERVICE.forms],
  ['buttons', ACTIONS, NEED_SERVICE.actions],
] as const)('without a service, %s that need one are refused, and the others work', async (_, all, need) => {
  expect(await listRefused(all, false)).toEqual([...need].sort());
  expect(await listRefused(all, true)).toEqual([]);
});

test('without a service, the shortcuts are refused', async () => {
  expect(await isRefused(TASK_MENU.needs, false)).toBe(true);
});

test('the refusal is one sentence that names the setting', () => {
  expect(NO_SERVICE.text).toMatch(/^No domain service is connected[^.]*SERVICE_JSON_URL[^.]*\.$/);
});
