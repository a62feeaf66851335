import type { Actor, View } from '@domain-steward/slack-workspace';
import { expect, it } from 'vitest';
import {
  buttonsOf,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  useTestDemo,
} from '../support/demo.ts';
import {
  downloadAuditLog,
  expectFormClosed,
  forgeClick,
  listFields,
  readFieldValues,
} from '../support/people.ts';

/* Presets are named sets of contacts or nameservers. Approvers and admins manage them; forms offer them. */

const t = useTestDemo();

async function showPresets(person: Actor) {
  await readCommandReply(t.workspace, person, '/domain presets');
  const list = person.ephemerals().at(-1);
  if (list === undefined) throw new Error('the presets were not shown');
  return list;
}

async function openPresetForm(person: Actor, button: string): Promise<View> {
  const list = await showPresets(person);
  return performAndWaitForView(t.workspace, person, () => person.click(list, button));
}

function waitForForm(person: Actor, view: View, isExpected: (form: View) => boolean): Promise<View> {
  return t.workspace.waitFor(
    () => person.openedViews().find((open) => open.id === view.id && isExpected(open)),
    {
      what: 'the form to change',
    },
  );
}

async function addContactPreset(): Promise<void> {
  const form = await openPresetForm(t.bob, 'preset_add');
  expect(listFields(form)).toEqual(['preset_name', 'kind', 'ownerc', 'adminc', 'techc']);
  const values = { preset_name: 'ACME Ltd', ownerc: '11', adminc: '12', techc: '13' };
  expect(
    await performAndReadReply(t.workspace, t.bob, async () =>
      expectFormClosed(await t.bob.submit(form, values)),
    ),
  ).toContain('I saved the preset “ACME Ltd”');
}

it('presets are added only by approvers and admins, and shown to everyone', async () => {
  expect(await readCommandReply(t.workspace, t.alice, '/domain presets')).toContain(
    'There are no presets yet',
  );
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).toEqual([]);
  await addContactPreset();
  const reply = await performAndReadReply(t.workspace, t.alice, () =>
    forgeClick(t.workspace, 'U0ALICE', 'preset_add', 'new'),
  );
  expect(reply).toContain('Only approvers and admins can change presets');
  expect(await readCommandReply(t.workspace, t.alice, '/domain presets')).toContain(
    '*ACME Ltd*: owner `11`, admin `12`, tech `13`',
  );
});

it('the form has the fields of the preset’s kind and shows errors', async () => {
  const form = await openPresetForm(t.bob, 'preset_add');
  await t.bob.changeInput(form, 'kind', 'nameservers');
  const nameserverForm = await waitForForm(t.bob, form, (open) => listFields(open).includes('nameServers'));
  expect(listFields(nameserverForm)).toEqual(['preset_name', 'kind', 'nameServers']);
  const resultWithInvalidHost = await t.bob.submit(nameserverForm, {
    preset_name: 'acme ltd',
    nameServers: 'ns1.example.net\nnot a host!',
  });
  expect(resultWithInvalidHost).toMatchObject({
    outcome: 'errors',
    errors: { nameServers: expect.any(String) },
  });
  const resultWithTakenName = await t.bob.submit(nameserverForm, {
    preset_name: 'acme ltd',
    nameServers: 'ns1.example.net',
  });
  expect(resultWithTakenName).toMatchObject({
    outcome: 'errors',
    errors: { preset_name: expect.stringContaining('Another preset already has this name') },
  });
  expectFormClosed(
    await t.bob.submit(nameserverForm, {
      preset_name: 'Our DNS',
      nameServers: 'ns1.example.net\nNS2.example.net.',
    }),
  );
});

it('a preset fills in its fields of a form and keeps the others', async () => {
  await t.workspace.waitFor(
    async () =>
      (await readCommandReply(t.workspace, t.alice, '/domain presets')).includes('Our DNS')
        ? true
        : undefined,
    { what: 'the second preset' },
  );
  const form = await openForm(t.workspace, t.alice, '/domain create new.rest');
  expect(listFields(form)[0]).toBe('preset');
  await t.alice.changeInput(form, 'ownerc', '99');
  const choosePreset = async (id: string, isFilled: (form: View) => boolean) => {
    const currentForm = t.alice.openedViews().at(-1) ?? form;
    await t.alice.changeInput(currentForm, 'preset', id);
    return waitForForm(t.alice, form, isFilled);
  };
  const [contactPresetId = '', nameserverPresetId = ''] = [
    ...JSON.stringify(form.blocks).matchAll(/"value":"([0-9a-f-]{36})"/g),
  ].map(([, id]) => id ?? '');
  await choosePreset(contactPresetId, (view) => readFieldValues(view)['techc'] === '13');
  const filledForm = await choosePreset(
    nameserverPresetId,
    (view) => readFieldValues(view)['nameServers'] === 'ns1.example.net\nns2.example.net',
  );
  expect(filledForm.state.values).toMatchObject({
    name: { name: { value: 'new.rest' } },
    ownerc: { ownerc: { value: '11' } },
    adminc: { adminc: { value: '12' } },
    techc: { techc: { value: '13' } },
  });
  t.alice.close(filledForm);
});

it('presets are deleted, and every change is in the audit log', async () => {
  const list = await showPresets(t.bob);
  await t.bob.click(list, 'preset_delete', {
    value: JSON.stringify(list.blocks).match(/"value":"([0-9a-f-]{36})"/)?.[1] ?? '',
  });
  await t.workspace.waitFor(
    async () =>
      (await readCommandReply(t.workspace, t.alice, '/domain presets')).includes('ACME') ? undefined : true,
    { what: 'the preset to be deleted' },
  );
  const { csv } = await downloadAuditLog(t.workspace);
  const lines = csv.split('\r\n').filter((line) => line.includes('preset_changed'));
  expect(lines.map((line) => line.split(',')[6])).toEqual(['ACME Ltd', 'Our DNS', 'ACME Ltd']);
  expect(lines[2]).toContain('to """"');
});
