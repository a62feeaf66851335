import type { RequestListener } from 'node:http';
import { type AckFn, App, type ViewResponseAction, type ViewSubmitAction } from '@slack/bolt';
import type { ModalView } from '@slack/types';
import { z } from 'zod';
import { VaultError } from '../accounts/vault.ts';
import type { Secret } from '../client/secret.ts';
import { type Log, newReference } from '../log.ts';
import type { Person } from './directory.ts';
import {
  type FormFeature,
  type Interaction,
  isAdmin,
  type Needs,
  type SlackDeps,
  type Submitted,
} from './feature.ts';
import { publishHome } from './features/home.ts';
import { ACTIONS, COMMANDS, FORMS, TASK_MENU } from './features/index.ts';
import { openForm } from './features/ordering.ts';
import { createLimiter } from './limit.ts';
import { nearest, parseCommandLine } from './parse.ts';
import {
  actionPayload,
  commandPayload,
  homePayload,
  originOf,
  shortcutPayload,
  type ViewPayload,
  valuesOf,
  viewPayload,
} from './payload.ts';
import { boltLogger, createReceiver, type SlackMode } from './receiver.ts';
import { tell } from './tell.ts';
import { type FormOrigin, type FormValues, formView, noticeView } from './views/form.ts';
import { unknownCommand } from './views/help.ts';
import { code, count, escapeText, type Message, say, section } from './views/kit.ts';
import { done, SlackProblem, webClientOptions } from './web.ts';

export interface SlackAppOptions {
  readonly deps: SlackDeps;
  readonly botToken: Secret;
  readonly botUserId: string;
  readonly apiUrl: string | undefined;
  readonly mode: SlackMode;
  /** Told after how many seconds a delivery of a kind was acknowledged, for metrics. */
  readonly acknowledged?: (kind: string, seconds: number) => void;
  /** Commands and shortcuts that one person may use in a minute; {@link COMMANDS_PER_MINUTE} when left out. */
  readonly commandsPerMinute?: number;
}

export interface SlackApp {
  /** Takes Slack's signed requests; undefined in Socket Mode. */
  readonly requestListener: RequestListener | undefined;
  /** Begins to take what Slack delivers. */
  start(): Promise<void>;
  /** Whether deliveries can arrive. */
  connected(): boolean;
  /** Takes nothing new and waits for what is under way. @returns false when `timeoutMs` was not enough */
  stop(timeoutMs: number): Promise<boolean>;
}

/** A form has this long before its view says that it is checking; Slack waits 3 s. */
const SUBMISSION_MS = 2_000;
/** After this a person is told that it takes longer. */
const SLOW_MS = 2_500;

/** Nobody types ten commands a second; a program that does must not take the bot from everybody else. */
const COMMANDS_PER_MINUTE = 600;

const STRANGERS = say(
  'Only members of this workspace can use Domain Steward. Ask somebody here to do it for you.',
);

const SLOW = say('This takes longer than usual. I am still at it and will answer here.');

/** Joins Bolt and the features: who may do what, what is said when something fails, and what is under way. */
export function createSlackApp(options: SlackAppOptions): SlackApp {
  const { deps } = options;
  const { log } = deps;
  const underWay = new Set<Promise<void>>();
  const commands = createLimiter(options.commandsPerMinute ?? COMMANDS_PER_MINUTE);
  let stopping = false;

  const receiver = createReceiver(options.mode, options.apiUrl, log);
  const app = new App({
    receiver: receiver.receiver,
    authorize: async () => ({ botToken: options.botToken.reveal(), botUserId: options.botUserId }),
    clientOptions: webClientOptions(options.apiUrl),
    logger: boltLogger(log),
    convoStore: false,
    ignoreSelf: false,
  });
  measureAcknowledgements(app, options.acknowledged ?? (() => undefined));

  /** Every delivery runs in here: it is waited for at shutdown, and no error is lost. */
  function track(activity: string, run: () => Promise<void>): Promise<void> {
    const work: Promise<void> = run()
      .catch((err: unknown) => log.error({ err, activity }, 'answering Slack'))
      .finally(() => underWay.delete(work));
    underWay.add(work);
    return work;
  }

  /** Runs what a person asked for; whatever happens, the person hears something. */
  async function attempt(call: Interaction, activity: string, run: () => Promise<void>): Promise<void> {
    let told = false;
    const slow = setTimeout(() => {
      if (!told) void call.tell(SLOW).catch(() => undefined);
    }, SLOW_MS);
    try {
      await run();
    } catch (error) {
      await call.tell(explain(log, error, activity));
    } finally {
      told = true;
      clearTimeout(slow);
    }
  }

  function interaction(from: {
    readonly person: Person;
    readonly channelId: string | undefined;
    readonly threadTs: string | undefined;
    readonly triggerId: string;
    readonly deliveryId: string;
    readonly responseUrl: string | undefined;
  }): Interaction {
    return {
      deps,
      person: from.person,
      channelId: from.channelId,
      threadTs: from.threadTs,
      deliveryId: from.deliveryId,
      tell: (message, options) => tell(deps, from, message, options),
      open: async (view, { undo } = {}) => {
        try {
          await deps.web.call('views.open', { trigger_id: from.triggerId, view }, done);
        } catch (error) {
          await undo?.();
          if (error instanceof SlackProblem && /trigger/.test(error.code ?? '')) {
            await tell(deps, from, say('Opening this took too long for Slack. Try once more.'));
            return;
          }
          throw error;
        }
      },
    };
  }

  /** @returns why this person may not, or undefined */
  async function refusal(call: Interaction, needs: Needs): Promise<Message | undefined> {
    if (needs === 'nothing') return undefined;
    if (!call.person.isMember) return STRANGERS;
    if (needs === 'admin' && !isAdmin(deps, call.person)) {
      return say('Only admins can do this. Ask a workspace admin or owner.');
    }
    if (needs === 'linked' && (await deps.accounts.active(call.person.id)) === undefined) {
      return say('You have no linked account yet. Type `/domain link` first, then try again.');
    }
    return undefined;
  }

  /** @returns what to say to somebody who has asked too much, or undefined */
  function tooMany(userId: string): Message | undefined {
    const seconds = commands.take(userId);
    if (seconds === undefined) return undefined;
    log.warn({ userId }, 'a person uses more commands than anybody can type');
    return say(
      `Too many commands within a minute: this one was not looked at. Try again in ${count(seconds, 'second')}.`,
    );
  }

  function personOf(needs: Needs, userId: string, homeTeamId: string | undefined): Promise<Person> | Person {
    return needs === 'nothing'
      ? { id: userId, isMember: false, isAdmin: false }
      : deps.directory.person(userId, homeTeamId);
  }

  app.command('/domain', async ({ ack, body }) => {
    await ack();
    await track('command', async () => {
      const payload = commandPayload.parse(body);
      const line = parseCommandLine(payload.text);
      const command = COMMANDS.get(line.subcommand === '' ? 'help' : line.subcommand);
      const needs = command?.needs ?? 'nothing';
      const base = {
        channelId: payload.channel_id,
        threadTs: undefined,
        triggerId: payload.trigger_id,
        deliveryId: `command:${payload.trigger_id}`,
        responseUrl: payload.response_url,
      };
      const stranger = interaction({
        ...base,
        person: { id: payload.user_id, isMember: false, isAdmin: false },
      });
      await attempt(stranger, `/domain ${command?.name ?? '(unknown)'}`, async () => {
        const kept = payload.team_id === deps.teamId ? tooMany(payload.user_id) : STRANGERS;
        if (kept !== undefined) return stranger.tell(kept);
        const person = await personOf(needs, payload.user_id, payload.team_id);
        const call = {
          ...interaction({ ...base, person }),
          channelId: payload.channel_id,
          words: line.words,
          reason: line.reason,
        };
        if (command === undefined) {
          await call.tell(unknownCommand(line.subcommand, nearest(line.subcommand, [...COMMANDS.keys()])));
          return;
        }
        const refused = await refusal(call, command.needs);
        if (refused !== undefined) await call.tell(refused);
        else await command.run(call);
      });
    });
  });

  app.action(/.*/, async ({ ack, body }) => {
    await ack();
    await track('button', async () => {
      const payload = actionPayload.parse(body);
      const [pressed] = payload.actions;
      const action = pressed === undefined ? undefined : ACTIONS.get(pressed.action_id);
      if (pressed === undefined || action === undefined) return;
      const view = payload.view ?? undefined;
      const origin = view === undefined ? undefined : originOf(view);
      const base = {
        channelId: payload.channel?.id ?? origin?.channelId,
        threadTs: payload.message?.thread_ts ?? origin?.threadTs,
        triggerId: payload.trigger_id,
        deliveryId: `action:${payload.user.id}:${pressed.action_id}:${pressed.action_ts}`,
        responseUrl: payload.response_url,
      };
      const stranger = interaction({
        ...base,
        person: { id: payload.user.id, isMember: false, isAdmin: false },
      });
      await attempt(stranger, action.id, async () => {
        const person = await personOf(
          action.needs,
          payload.user.id,
          payload.user.team_id ?? payload.team?.id,
        );
        const call = interaction({ ...base, person });
        const refused = await refusal(call, action.needs);
        if (refused !== undefined) {
          await call.tell(refused);
          return;
        }
        await action.run({
          ...call,
          value: pressed.value ?? pressed.selected_option?.value ?? '',
          blockId: pressed.block_id,
          messageTs: payload.message?.ts,
          view:
            view === undefined || origin === undefined
              ? undefined
              : { id: view.id, values: valuesOf(view), origin },
        });
      });
      if (view?.type === 'home') await publishHome(deps, payload.user.id);
    });
  });

  app.view<ViewSubmitAction>({ callback_id: /.*/, type: 'view_submission' }, async ({ ack, body }) => {
    await track('form', async () => {
      const payload = viewPayload.parse(body);
      const feature = FORMS.get(payload.view.callback_id);
      const origin = originOf(payload.view);
      if (feature === undefined || origin === undefined) {
        await ack();
        return;
      }
      const base = {
        channelId: origin.channelId === '' ? undefined : origin.channelId,
        threadTs: origin.threadTs,
        triggerId: payload.trigger_id,
        deliveryId: `view:${payload.view.id}`,
        responseUrl: undefined,
      };
      const values = valuesOf(payload.view);
      const outcome = (async (): Promise<Submitted> => {
        try {
          const person = await personOf(
            feature.needs,
            payload.user.id,
            payload.user.team_id ?? payload.team?.id,
          );
          const call = interaction({ ...base, person });
          const refused = await refusal(call, feature.needs);
          if (refused !== undefined)
            return { kind: 'view', view: noticeView(feature.form.title, asSections(refused)) };
          return await feature.submit({ ...call, values, origin });
        } catch (error) {
          const said = explain(log, error, `form ${feature.form.name}`);
          return { kind: 'errors', errors: { [feature.form.fields[0]?.name ?? '']: said.text } };
        }
      })();
      const quick = await Promise.race([outcome, after(SUBMISSION_MS)]);
      const teller = interaction({
        ...base,
        person: { id: payload.user.id, isMember: true, isAdmin: false },
      });
      // A form that was opened from the Home tab changes what the tab shows.
      const refreshHome = async () => {
        if (base.channelId === undefined) await publishHome(deps, payload.user.id);
      };
      if (quick !== undefined) {
        await answerSubmission(quick, payload.view, ack, teller);
        if (quick.kind === 'done') await refreshHome();
        return;
      }
      await ack({
        response_action: 'update',
        view: noticeView(feature.form.title, [
          section(':hourglass_flowing_sand: Checking. This view changes as soon as there is an answer.'),
        ]),
      });
      await showLateOutcome(await outcome, feature, payload.view.id, values, origin, teller);
      await refreshHome();
    });
  });

  async function answerSubmission(
    outcome: Submitted,
    view: ViewPayload,
    ack: AckFn<ViewResponseAction>,
    teller: Interaction,
  ): Promise<void> {
    switch (outcome.kind) {
      case 'errors': {
        // An error at a field that is not on the form would be lost.
        const shown = Object.keys(view.state?.values ?? {});
        const errors: Record<string, string> = {};
        for (const [field, problem] of Object.entries(outcome.errors)) {
          const at = shown.includes(field) ? field : (shown[0] ?? field);
          errors[at] = errors[at] === undefined ? problem : `${errors[at]} ${problem}`;
        }
        await ack({ response_action: 'errors', errors });
        return;
      }
      case 'view':
        await ack({ response_action: 'update', view: outcome.view });
        await carryOn(outcome, view.id, teller);
        return;
      case 'done':
        await ack();
        if (outcome.say !== undefined) await teller.tell(outcome.say);
    }
  }

  /** Does what a view announced; the person hears of an error, and a view that was closed changes nothing. */
  async function carryOn(
    { meanwhile }: Submitted & { readonly kind: 'view' },
    viewId: string,
    teller: Interaction,
  ): Promise<void> {
    if (meanwhile === undefined) return;
    const show = async (view: ModalView) => {
      await deps.web.call('views.update', { view_id: viewId, view }, done).catch((error: unknown) => {
        if (!(error instanceof SlackProblem)) throw error;
      });
    };
    try {
      await meanwhile(show);
    } catch (error) {
      await teller.tell(explain(log, error, 'a form’s work'));
    }
  }

  /** The view says "checking" already: it shows the result, or the form again with what was typed. */
  async function showLateOutcome(
    outcome: Submitted,
    feature: FormFeature,
    viewId: string,
    values: FormValues,
    origin: FormOrigin,
    teller: Interaction,
  ): Promise<void> {
    const update = (view: ModalView) => deps.web.call('views.update', { view_id: viewId, view }, done);
    try {
      if (outcome.kind === 'errors') {
        const again = await feature.render(teller, origin, values);
        await update(formView({ ...again, problems: Object.values(outcome.errors).map(escapeText) }));
      } else if (outcome.kind === 'view') {
        await update(outcome.view);
      } else if (outcome.say === undefined || isPlain(outcome.say)) {
        await update(noticeView(feature.form.title, asSections(outcome.say ?? say('Done.'))));
      } else {
        // Buttons and tables belong in the channel: a view cannot be left open with them.
        await update(
          noticeView(feature.form.title, [section('Done. The answer is in the channel, for you alone.')]),
        );
        await teller.tell(outcome.say);
      }
    } catch (error) {
      // The person has closed the view.
      if (!(error instanceof SlackProblem)) throw error;
      const text =
        outcome.kind === 'errors' ? Object.values(outcome.errors).map(escapeText).join(' ') : 'Done.';
      await teller.tell(outcome.kind === 'done' && outcome.say !== undefined ? outcome.say : say(text));
    }
  }

  app.shortcut('domain_here', async ({ ack, body }) => {
    await ack();
    await track('shortcut', async () => {
      const payload = shortcutPayload.parse(body);
      const base = {
        channelId: payload.channel.id,
        threadTs: payload.message.thread_ts ?? payload.message.ts,
        triggerId: payload.trigger_id,
        deliveryId: `shortcut:${payload.trigger_id}`,
        responseUrl: payload.response_url,
      };
      const stranger = interaction({
        ...base,
        person: { id: payload.user.id, isMember: false, isAdmin: false },
      });
      await attempt(stranger, 'shortcut', async () => {
        const kept = tooMany(payload.user.id);
        if (kept !== undefined) return stranger.tell(kept);
        const person = await deps.directory.person(payload.user.id, payload.user.team_id ?? payload.team?.id);
        const call = interaction({ ...base, person });
        const refused = await refusal(call, 'linked');
        if (refused !== undefined) await call.tell(refused);
        else await openForm(call, TASK_MENU, { channelId: base.channelId, threadTs: base.threadTs }, {});
      });
    });
  });

  app.event('app_home_opened', async ({ event, body }) => {
    if (body.team_id !== deps.teamId) return;
    await track('home', async () => {
      const payload = homePayload.parse(event);
      if (payload.tab === 'messages') return;
      await publishHome(deps, payload.user);
    });
  });

  return {
    requestListener: receiver.requestListener,
    start: async () => {
      await receiver.start();
    },
    connected: receiver.connected,
    async stop(timeoutMs) {
      if (!stopping) await receiver.stop();
      stopping = true;
      const drained = (async () => {
        while (underWay.size > 0) await Promise.allSettled(underWay);
        return true;
      })();
      return (await Promise.race([drained, after(timeoutMs)])) ?? false;
    },
  };
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref();
  });
}

function asSections(message: Message) {
  return message.blocks.filter((block) => block.type === 'section');
}

/** Nothing but sentences. */
function isPlain(message: Message): boolean {
  return message.blocks.every((block) => block.type === 'section');
}

/** One sentence for a person about something unexpected, with a reference that stands in the log as well. */
function explain(log: Log, error: unknown, activity: string): Message {
  const reference = newReference();
  log.error({ err: error, reference, activity }, 'a person was told that something went wrong');
  if (error instanceof VaultError) {
    return say(
      `What I keep encrypted for this cannot be opened any more: its key is gone, or it was changed. Link your account again with \`/domain link\`, then ask again. Reference ${code(reference)}.`,
    );
  }
  const what =
    error instanceof SlackProblem
      ? 'Slack did not answer me as it should.'
      : isDatabaseAway(error)
        ? 'My database does not answer right now.'
        : 'Something went wrong on my side.';
  return say(
    `${what} Look at \`/domain orders mine\` before you try again, so that nothing is asked for twice. Reference ${code(reference)}.`,
  );
}

const databaseError = z.object({ name: z.string().regex(/^(PrismaClient|StoreError)/) });

function isDatabaseAway(error: unknown): boolean {
  return databaseError.safeParse(error).success;
}

const KINDS = z.union([
  z.object({ command: z.string() }).transform(() => 'command'),
  z.object({ type: z.literal('event_callback') }).transform(() => 'event'),
  z
    .object({ type: z.enum(['block_actions', 'view_submission', 'message_action']) })
    .transform(({ type }) => type),
]);

/** How long Slack waits for us, from the moment Bolt has checked the delivery. */
function measureAcknowledgements(app: App, acknowledged: (kind: string, seconds: number) => void): void {
  const processEvent = app.processEvent.bind(app);
  app.processEvent = (event) => {
    const startedAt = performance.now();
    const kind = KINDS.safeParse(event.body).data ?? 'other';
    return processEvent({
      ...event,
      ack: async (response) => {
        await event.ack(response);
        acknowledged(kind, (performance.now() - startedAt) / 1_000);
      },
    });
  };
}
