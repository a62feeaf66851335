import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { App } from '@slack/bolt';
import type { Secret } from '../../service/secret.ts';
import type { SlackContext } from '../context.ts';
import { publishHome } from '../home/home.ts';
import { isFullMember } from '../outbound/directory.ts';
import { createWebClientOptions } from '../outbound/web.ts';
import { ACKNOWLEDGEMENT_TIMEOUT_MS, measureAcknowledgements } from './acknowledgement.ts';
import { createDeliveryHandlers } from './deliveries.ts';
import { directoryEventSchema, homePayloadSchema } from './payload.ts';
import { createBoltLogger, createReceiver, type SlackMode } from './receiver.ts';
import { createWorkTracker, type WorkTracker } from './work-tracker.ts';

export interface SlackApp {
  /** Handles Slack's signed requests; undefined in Socket Mode. */
  readonly requestListener: RequestListener | undefined;
  start(): Promise<void>;
  isConnected(): boolean;
  /**
   * Stops accepting deliveries and waits for pending ones.
   * @returns false on timeout
   */
  stop(timeoutMs: number): Promise<boolean>;
}

/** Creates the Bolt app and registers its listeners. */
export function createSlackApp(options: {
  readonly context: SlackContext;
  readonly botToken: Secret;
  readonly botUserId: string;
  readonly apiUrl: string | undefined;
  readonly mode: SlackMode;
  /** Called with each delivery's kind and the seconds until it was acknowledged. */
  readonly onAcknowledged?: (kind: string, seconds: number) => void;
  /** Limit on commands, shortcuts and clicks per person per minute. Default: 600. */
  readonly commandsPerMinute?: number | undefined;
}): SlackApp {
  const { context, mode } = options;
  const tracker = createWorkTracker(context.log);
  const receiver = createReceiver(mode, options.apiUrl, context.log);
  const app = new App({
    receiver: receiver.boltReceiver,
    authorize: async () => ({ botToken: options.botToken.reveal(), botUserId: options.botUserId }),
    clientOptions: createWebClientOptions(options.apiUrl),
    logger: createBoltLogger(context.log),
    convoStore: false,
    ignoreSelf: false,
  });
  const processEvent = app.processEvent.bind(app);
  app.processEvent = async (event) => {
    // Handled first, because Bolt acknowledges an event before any listener runs.
    await handleEvent(context, tracker, event.body);
    await processEvent(event);
  };
  measureAcknowledgements(app, options.onAcknowledged ?? (() => undefined));

  // Listeners keep only the body and the acknowledgement, so that Bolt's other objects can be
  // garbage-collected.
  const { onCommand, onButton, onShortcut, onGlobalShortcut, onForm } = createDeliveryHandlers(
    context,
    tracker,
    options.commandsPerMinute,
  );
  app.command('/domain', async ({ body, ack }) => onCommand({ body, ack: () => ack() }));
  app.action({ type: 'block_actions', action_id: /./ }, async ({ body, ack }) =>
    onButton({ body, ack: () => ack() }),
  );
  app.shortcut('domain_here', async ({ body, ack }) => onShortcut({ body, ack: () => ack() }));
  app.shortcut('domain_task', async ({ body, ack }) => onGlobalShortcut({ body, ack: () => ack() }));
  app.view({ type: 'view_submission' }, onForm);
  app.event('app_home_opened', async ({ body, event }) => {
    if (body.team_id === context.teamId) showHome(context, tracker, event);
  });

  let isStopping = false;
  return {
    requestListener: receiver.requestListener,
    start: receiver.start,
    isConnected: receiver.isConnected,
    async stop(timeoutMs) {
      const startedAt = performance.now();
      if (!isStopping) {
        isStopping = true;
        // The socket is needed to acknowledge deliveries that arrived over it.
        if (mode.kind === 'socket')
          await tracker.waitForCurrentWork(Math.min(ACKNOWLEDGEMENT_TIMEOUT_MS, timeoutMs));
        await receiver.stop();
      }
      return tracker.waitUntilIdle(Math.max(0, timeoutMs - (performance.now() - startedAt)));
    },
  };
}

/** Handles events about people and groups. Resolves when the changes are saved, or on timeout. */
async function handleEvent(context: SlackContext, { track }: WorkTracker, body: unknown): Promise<void> {
  const parsed = directoryEventSchema.safeParse(body).data;
  if (parsed?.team_id !== context.teamId) return;
  const { event } = parsed;
  if (event.type === 'subteam_members_changed') context.directory.forgetGroup(event.subteam_id);
  if (event.type === 'user_change') {
    const { user } = event;
    context.directory.forgetPerson(user.id);
    const { offboard, portfolio } = context;
    const applyChange = isFullMember(user, context) ? portfolio.recordOwnerReturn : offboard;
    // If the change can't be applied, the periodic check for departures finds the person.
    const work = track('offboarding', () => applyChange(user.id));
    await Promise.race([work, sleep(ACKNOWLEDGEMENT_TIMEOUT_MS, undefined, { ref: false })]);
  }
}

function showHome(context: SlackContext, { track }: WorkTracker, event: unknown): void {
  void track('home', async () => {
    const payload = homePayloadSchema.parse(event);
    if (payload.tab === 'messages') return;
    await publishHome(context, payload.user);
  });
}
