import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AnyMiddlewareArgs,
  App,
  type SlackAction,
  type SlackViewMiddlewareArgs,
  type ViewSubmitAction,
} from '@slack/bolt';
import type { Secret } from '../service/secret.ts';
import { type Delivery, handle, interaction, NOT_A_MEMBER } from './authorize.ts';
import { isFullMember } from './directory.ts';
import type { Interaction, Needs, SlackDeps } from './feature.ts';
import { publishHome } from './features/home.ts';
import { ACTIONS, COMMANDS, FORMS, TASK_MENU } from './features/index.ts';
import { openForm } from './features/ordering.ts';
import { nearest, parseCommandLine } from './parse.ts';
import {
  actionPayload,
  announcement,
  commandPayload,
  homePayload,
  originOf,
  shortcutPayload,
  valuesOf,
  viewPayload,
} from './payload.ts';
import {
  ACKNOWLEDGE_WITHIN_MS,
  type Acknowledgement,
  createAcknowledgement,
  measureAcknowledgements,
} from './platform/acknowledgement.ts';
import { createLimiter, MINUTE_MS } from './platform/limiter.ts';
import { boltLogger, createReceiver, type SlackMode } from './platform/receiver.ts';
import { webClientOptions } from './platform/web.ts';
import { submitForm } from './submission.ts';
import { count, type Message, section, textMessage } from './views/blocks.ts';
import { noticeView } from './views/form.ts';
import { unknownCommand } from './views/help.ts';

export interface SlackAppOptions {
  readonly deps: SlackDeps;
  readonly botToken: Secret;
  readonly botUserId: string;
  readonly apiUrl: string | undefined;
  readonly mode: SlackMode;
  /** Told after how many seconds a delivery of a kind was acknowledged, for metrics. */
  readonly acknowledged?: (kind: string, seconds: number) => void;
  /** Commands, shortcuts and presses of one person in a minute; {@link COMMANDS_PER_MINUTE} when left out. */
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

/** Nobody types or presses ten times a second; a program that does must not take the bot from everybody else. */
const COMMANDS_PER_MINUTE = 600;

/** In place of a form that an older or newer release opened. */
const UNKNOWN_FORM = noticeView('Domain Steward', [
  section('I do not know this form any more, so nothing was done with it. Open it again, then submit it.'),
]);

type Submission = SlackViewMiddlewareArgs<ViewSubmitAction>;

function isSubmission(args: AnyMiddlewareArgs): args is Submission {
  return 'view' in args && args.body.type === 'view_submission';
}

/** Whether a delivery names what was pressed. */
function isPress(body: SlackAction): boolean {
  return body.type === 'block_actions' && body.actions[0]?.action_id !== undefined;
}

/** Joins Bolt and the features: what Slack delivers goes to its feature, and what is under way is known. */
export function createSlackApp(options: SlackAppOptions): SlackApp {
  const { deps } = options;
  const { log } = deps;
  const underWay = new Set<Promise<void>>();
  const commands = createLimiter(options.commandsPerMinute ?? COMMANDS_PER_MINUTE, MINUTE_MS);
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
  const processEvent = app.processEvent.bind(app);
  app.processEvent = async (event) => {
    // Bolt acknowledges an event before any middleware sees it.
    await onEvent(event.body);
    await processEvent(event);
  };
  measureAcknowledgements(app, options.acknowledged ?? (() => undefined));

  /** Every delivery runs in here: it is waited for at shutdown, and no error is lost. */
  function track(activity: string, run: () => Promise<void>): Promise<void> {
    const work: Promise<void> = run()
      .catch((err: unknown) => log.error({ err, activity }, 'answering Slack'))
      .finally(() => underWay.delete(work));
    underWay.add(work);
    return work;
  }

  /**
   * Works on a delivery and acknowledges it when all that it changes is committed: when it is about to say something, at
   * its end, or when that takes too long. Nobody waits for it: all that Bolt has made of the delivery would be kept until
   * its work is done.
   */
  function runInBackground(
    activity: string,
    ack: () => Promise<void>,
    run: (acknowledgement: Acknowledgement) => Promise<void>,
  ): void {
    const acknowledgement = createAcknowledgement(ack, log);
    void track(activity, () => run(acknowledgement).finally(acknowledgement.give));
  }

  /** @returns what to say to somebody who has asked too much, or undefined */
  function isOverLimit(userId: string): Message | undefined {
    const seconds = commands.take(userId);
    if (seconds === undefined) return undefined;
    log.warn({ userId }, 'a person uses more commands and buttons than anybody can');
    return textMessage(
      `Too many commands and clicks within a minute: this one was not looked at. Try again in ${count(seconds, 'second')}.`,
    );
  }

  /** Serves what a program could ask for as often as it likes. */
  async function serveLimited(
    delivery: Delivery,
    what: { readonly needs: Needs; readonly activity: string },
    run: (call: Interaction) => Promise<void>,
  ): Promise<void> {
    const { userId, homeTeamId = deps.teamId } = delivery;
    const refused = homeTeamId === deps.teamId ? isOverLimit(userId) : NOT_A_MEMBER;
    if (refused !== undefined) await interaction(deps, delivery).respond(refused);
    else await handle(deps, delivery, what, run);
  }

  function onCommand(body: unknown, ack: () => Promise<void>): void {
    runInBackground('command', ack, async (acknowledgement) => {
      const payload = commandPayload.parse(body);
      const line = parseCommandLine(payload.text);
      const command = COMMANDS.get(line.subcommand === '' ? 'help' : line.subcommand);
      const delivery = {
        userId: payload.user_id,
        homeTeamId: payload.team_id,
        channelId: payload.channel_id,
        threadTs: undefined,
        triggerId: payload.trigger_id,
        deliveryId: `command:${payload.trigger_id}`,
        responseUrl: payload.response_url,
        acknowledgement,
      };
      const what = {
        needs: command?.needs ?? 'nothing',
        activity: `/domain ${command?.name ?? '(unknown)'}`,
      };
      await serveLimited(delivery, what, async (call) => {
        if (command === undefined) {
          await call.respond(unknownCommand(line.subcommand, nearest(line.subcommand, [...COMMANDS.keys()])));
        } else {
          await command.run({
            ...call,
            channelId: delivery.channelId,
            words: line.words,
            reason: line.reason,
          });
        }
      });
    });
  }

  function onButton(body: unknown, ack: () => Promise<void>): void {
    runInBackground('button', ack, async (acknowledgement) => {
      const payload = actionPayload.parse(body);
      const [pressed] = payload.actions;
      const action = pressed === undefined ? undefined : ACTIONS.get(pressed.action_id);
      if (pressed === undefined || action === undefined) return;
      const view = payload.view ?? undefined;
      const origin = view === undefined ? undefined : originOf(view);
      const delivery = {
        userId: payload.user.id,
        homeTeamId: payload.user.team_id ?? payload.team?.id,
        channelId: payload.channel?.id ?? origin?.channelId,
        threadTs: payload.message?.thread_ts ?? origin?.threadTs,
        triggerId: payload.trigger_id,
        deliveryId: `action:${payload.user.id}:${pressed.action_id}:${pressed.action_ts}`,
        responseUrl: payload.response_url,
        acknowledgement,
      };
      await serveLimited(delivery, { needs: action.needs, activity: action.id }, (call) =>
        action.run({
          ...call,
          value: pressed.value ?? pressed.selected_option?.value ?? '',
          blockId: pressed.block_id,
          messageTs: payload.message?.ts,
          view:
            view === undefined || origin === undefined
              ? undefined
              : { id: view.id, form: view.callback_id, values: valuesOf(view), origin },
        }),
      );
      acknowledgement.give();
      if (view?.type === 'home') await publishHome(deps, payload.user.id);
    });
  }

  function onForm({ body, ack }: Submission): Promise<void> {
    return track('form', async () => {
      const payload = viewPayload.parse(body);
      const feature = FORMS.get(payload.view.callback_id);
      const origin = originOf(payload.view);
      if (feature === undefined || origin === undefined) {
        await ack({ response_action: 'update', view: UNKNOWN_FORM });
      } else await submitForm(deps, feature, payload, origin, ack);
    });
  }

  function onShortcut(body: unknown, ack: () => Promise<void>): void {
    runInBackground('shortcut', ack, async (acknowledgement) => {
      const payload = shortcutPayload.parse(body);
      const channelId = payload.channel.id;
      const threadTs = payload.message.thread_ts ?? payload.message.ts;
      const delivery = {
        userId: payload.user.id,
        homeTeamId: payload.user.team_id ?? payload.team?.id,
        channelId,
        threadTs,
        triggerId: payload.trigger_id,
        deliveryId: `shortcut:${payload.trigger_id}`,
        responseUrl: payload.response_url,
        acknowledgement,
      };
      await serveLimited(delivery, { needs: 'linked', activity: 'shortcut' }, (call) =>
        openForm(call, TASK_MENU, { channelId, threadTs }, {}),
      );
    });
  }

  /** Takes in what Slack announces of people and groups. Resolves when it is kept, or has taken too long. */
  async function onEvent(body: unknown): Promise<void> {
    const announced = announcement.safeParse(body).data;
    if (announced?.team_id !== deps.teamId) return;
    const { event } = announced;
    if (event.type === 'subteam_members_changed') deps.directory.forgetGroup(event.subteam_id);
    if (event.type === 'user_change') {
      const { user } = event;
      deps.directory.forgetPerson(user.id);
      if (isFullMember(user, deps.teamId)) return;
      // What fails is found again by the daily look.
      const offboarded = track('offboarding', () => deps.offboard(user.id));
      await Promise.race([offboarded, sleep(ACKNOWLEDGE_WITHIN_MS, undefined, { ref: false })]);
    }
  }

  function onHome(event: unknown): void {
    void track('home', async () => {
      const payload = homePayload.parse(event);
      if (payload.tab === 'messages') return;
      await publishHome(deps, payload.user);
    });
  }

  // One middleware for all that comes: each listener of Bolt's would be asked about every delivery, with copies of all
  // that Bolt knows of it.
  app.use(async (args) => {
    if ('command' in args && args.command.command === '/domain') {
      onCommand(args.body, () => args.ack());
    } else if ('action' in args && isPress(args.body)) {
      onButton(args.body, () => args.ack());
    } else if (isSubmission(args)) {
      await onForm(args);
    } else if ('shortcut' in args && args.shortcut.callback_id === 'domain_here') {
      onShortcut(args.body, () => args.ack());
    } else if ('event' in args && args.event.type === 'app_home_opened') {
      if (args.body.team_id === deps.teamId) onHome(args.event);
    }
  });

  return {
    requestListener: receiver.requestListener,
    start: receiver.start,
    connected: receiver.connected,
    async stop(timeoutMs) {
      const late = sleep(timeoutMs, false, { ref: false });
      if (!stopping) {
        stopping = true;
        // What came over a socket is acknowledged over it.
        const isAcknowledged = sleep(ACKNOWLEDGE_WITHIN_MS, false, { ref: false });
        if (options.mode.kind === 'socket')
          await Promise.race([Promise.allSettled(underWay), isAcknowledged, late]);
        await receiver.stop();
      }
      const drained = (async () => {
        while (underWay.size > 0) await Promise.allSettled(underWay);
        return true;
      })();
      return Promise.race([drained, late]);
    },
  };
}
