import { z } from 'zod';
import type { OrderTaskName } from '../../orders/order.ts';
import type { OrderTask } from '../../orders/order-task.ts';
import { isSchedulable } from '../../orders/schedule.ts';
import { getOrderTask, ORDER_TASKS } from '../../orders/tasks.ts';
import { parseDomainName } from '../../zones/names.ts';
import type { Command, CommandCall, Feature, FormFeature } from '../feature.ts';
import {
  choiceField,
  choicesSchema,
  type FieldDisplay,
  type FormValues,
  field,
  textField,
  textOrEmptySchema,
} from '../kit/form.ts';
import { openFormFromCommand } from '../open-form.ts';
import { misplacedPeriodText, UNREADABLE_LAST_WORD } from './asking.view.ts';
import { NO_AUTH_CODE } from './input-issue.view.ts';
import { createOrderForm, parseSecret, pick, type SecretField } from './order-form.ts';
import { checkAccount, requestOrderFromCommand } from './ordering.ts';
import { formatTaskNote } from './task-notes.view.ts';

/* Domain tasks. A complete command requests the order immediately; otherwise, the form opens. */

const NAME_DISPLAY: FieldDisplay = {
  label: 'Domain name',
  kind: 'text',
  placeholder: 'cafe.rest',
  isRequired: true,
};
/** Names or hosts, one or more per line. */
const namesSchema = choicesSchema.transform(splitNames);

export const NAMESERVERS_DISPLAY: FieldDisplay = {
  label: 'Nameservers',
  kind: 'lines',
  placeholder: 'ns1.example.net\nns2.example.net',
  hint: 'One per line.',
};
const nameServersField = field({ ...NAMESERVERS_DISPLAY, isRequired: true }, namesSchema);

const NAME_FIELDS = { name: field(NAME_DISPLAY, textOrEmptySchema) };
const contactField = (label: string, display: Partial<FieldDisplay> = {}) =>
  textField(label, { kind: 'number', isRequired: true, ...display });

const REGISTRATION_FIELDS = {
  ownerc: contactField('Owner contact', {
    hint: 'The contact’s ID at the domain service. For .rest, all three contacts need an email address on file with the service.',
  }),
  adminc: contactField('Admin contact'),
  techc: contactField('Tech contact'),
  nameServers: nameServersField,
};

function pickRegistrationValues(lastValues: FormValues): FormValues {
  return pick(lastValues, 'ownerc', 'adminc', 'techc', 'nameServers');
}

const AUTH_FIELD: SecretField = {
  name: 'auth',
  parse: (input) => (input.trim() === '' ? { error: NO_AUTH_CODE } : parseSecret(input.trim())),
};

const CONFIRMED = 'true';
const confirmOrderField = choiceField(
  'Confirmation',
  { [CONFIRMED]: 'Send it as confirmed' },
  choicesSchema.transform((checked) => checked.includes(CONFIRMED)),
  {
    kind: 'checkboxes',
    hint: 'The service’s documentation doesn’t say what happens to an unconfirmed order.',
  },
);

const createForm = createOrderForm({
  task: 'create',
  fields: z.object({ ...NAME_FIELDS, ...REGISTRATION_FIELDS, confirmOrder: confirmOrderField }),
  defaults: () => ({ confirmOrder: [CONFIRMED] }),
  reuseValues: pickRegistrationValues,
  reuseFromTasks: ['create', 'transfer'],
  hasOwnerFields: true,
  presetKinds: ['contacts', 'nameservers'],
});

export const transferForm = createOrderForm({
  task: 'transfer',
  fields: z.object({
    ...NAME_FIELDS,
    auth: textField('Auth code', {
      kind: 'secret',
      hint: 'Get it from the current registrar. I store it encrypted until the order ends, and never show it.',
      isRequired: true,
    }),
    ...REGISTRATION_FIELDS,
  }),
  secretField: AUTH_FIELD,
  reuseValues: pickRegistrationValues,
  reuseFromTasks: ['transfer', 'create'],
  hasOwnerFields: true,
  presetKinds: ['contacts', 'nameservers'],
});

export const renewForm = createOrderForm({
  task: 'renew',
  fields: z.object({
    names: textField(
      'Domain names',
      {
        kind: 'lines',
        placeholder: 'cafe.rest',
        hint: 'One per line. They become a single order.',
        isRequired: true,
      },
      namesSchema,
    ),
    period: textField(
      'Period in years',
      {
        kind: 'number',
        hint: 'The service’s documentation doesn’t name the unit, so I assume years.',
        isRequired: true,
      },
      z.string().default('1'),
    ),
  }),
  defaults: () => ({ period: '1' }),
});

const nameserversForm = createOrderForm({
  task: 'nameservers',
  fields: z.object({ ...NAME_FIELDS, nameServers: nameServersField }),
  reuseValues: (lastValues) => pick(lastValues, 'nameServers'),
  presetKinds: ['nameservers'],
});

function splitNames(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split(/[\s,;]+/)).filter((name) => name !== '');
}

interface DomainTask {
  readonly command: Command;
  readonly form: FormFeature;
}

function createSingleNameTask({ name: task, words, formNote }: OrderTask): DomainTask {
  const form = createOrderForm({
    task,
    fields: z.object({
      name: field(
        formNote === undefined ? NAME_DISPLAY : { ...NAME_DISPLAY, hint: formatTaskNote(formNote) },
        textOrEmptySchema,
      ),
    }),
  });
  const command: Command = {
    usage: `${task} NAME`,
    summary: words.summary,
    example: `/domain ${task} cafe.rest`,
    async run(call) {
      const names = splitNames(call.words);
      const [name] = names;
      // Several names are probably a mistake, so the form shows which one is used.
      if (names.length === 1) await requestOrderFromCommand(call, task, { name });
      else
        await openFormFromCommand(call, form, name === undefined ? {} : { name }, {
          words: names,
          usedCount: 1,
        });
    },
  };
  return { command, form };
}

function isNumber(word: string | undefined): word is string {
  return word !== undefined && /^[+-]?\d+([.,]\d+)?$/.test(word);
}

async function runRenew(call: CommandCall): Promise<void> {
  // `1,5` stays one word, so that it is refused as a period.
  const words = call.words.flatMap((word) => (/^[+-]?\d+,\d+$/.test(word) ? [word] : splitNames([word])));
  // `2 years` is read as `2`.
  if (isNumber(words.at(-2)) && /^years?$/i.test(words.at(-1) ?? '')) words.pop();
  const lastWord = words.at(-1);
  const hasPeriod = isNumber(lastWord);
  const names = hasPeriod ? words.slice(0, -1) : words;
  const period = hasPeriod ? lastWord : '1';
  if (names.length === 0) return openFormFromCommand(call, renewForm, { period });
  if (!hasPeriod && names.length > 1 && lastWord !== undefined && /^[\p{L}\d-]+$/u.test(lastWord)) {
    // An account that can't do the task is reported first, because no other input would help.
    return call.respond((await checkAccount(call, 'renew')) ?? UNREADABLE_LAST_WORD);
  }
  const misplacedPeriod = hasPeriod ? undefined : names.find(isNumber);
  if (misplacedPeriod !== undefined) {
    const reordered = [...names.filter((name) => name !== misplacedPeriod), misplacedPeriod];
    return call.respond(misplacedPeriodText(`/domain renew ${reordered.join(' ')}`));
  }
  await requestOrderFromCommand(call, 'renew', { names, period });
}

function openFormForName(call: CommandCall, form: FormFeature): Promise<void> {
  const [name = ''] = call.words;
  return openFormFromCommand(call, form, { name }, { words: call.words, usedCount: 1 });
}

/** A word that isn't a name may be the auth code, so it isn't shown. */
function openTransfer(call: CommandCall): Promise<void> {
  const [name = ''] = call.words;
  return parseDomainName(name).ok
    ? openFormForName(call, transferForm)
    : openFormFromCommand(call, transferForm, {}, { words: call.words, usedCount: 0 });
}

async function runNameservers(call: CommandCall): Promise<void> {
  const [name, ...nameServers] = splitNames(call.words);
  if (name !== undefined && nameServers.length > 0)
    await requestOrderFromCommand(call, 'nameservers', { name, nameServers });
  else await openFormFromCommand(call, nameserversForm, name === undefined ? {} : { name });
}

const restoreTask = createSingleNameTask(getOrderTask('restore'));

export const restoreForm = restoreTask.form;

function createCommand(task: OrderTaskName, { usage, example, run }: Omit<Command, 'summary'>): Command {
  return { usage, summary: getOrderTask(task).words.summary, example, run };
}

/** Tasks that need more input than one name, or whose form is also opened elsewhere. */
const CUSTOM_TASKS: Readonly<Partial<Record<OrderTaskName, DomainTask>>> = {
  create: {
    command: createCommand('create', {
      usage: 'create NAME',
      example: '/domain create bistro.rest',
      run: (call) => openFormForName(call, createForm),
    }),
    form: createForm,
  },
  transfer: {
    command: createCommand('transfer', {
      usage: 'transfer NAME',
      example: '/domain transfer bistro.rest',
      run: openTransfer,
    }),
    form: transferForm,
  },
  renew: {
    command: createCommand('renew', {
      usage: 'renew NAME… [PERIOD]',
      example: '/domain renew cafe.rest 2 -- client paid',
      run: runRenew,
    }),
    form: renewForm,
  },
  restore: restoreTask,
  nameservers: {
    command: createCommand('nameservers', {
      usage: 'nameservers NAME NS…',
      example: '/domain nameservers cafe.rest ns1.example.net ns2.example.net',
      run: runNameservers,
    }),
    form: nameserversForm,
  },
};

/** Tasks that aren't in CUSTOM_TASKS take one name. */
const TASKS: readonly DomainTask[] = Object.values(ORDER_TASKS)
  .filter(({ zoneTask }) => zoneTask !== undefined)
  .map((task) => {
    const { command, form } = CUSTOM_TASKS[task.name] ?? createSingleNameTask(task);
    return { command: { ...command, time: isSchedulable(task.name) ? 'accepted' : 'rejected' }, form };
  });

export const domains = {
  commands: TASKS.map(({ command }) => command),
  forms: TASKS.map(({ form }) => form),
} as const satisfies Feature;

export const FORMS_WITH_PRESETS: readonly FormFeature[] = [createForm, transferForm, nameserversForm];
