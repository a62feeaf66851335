import type { RequestListener } from 'node:http';
import { App } from '@slack/bolt';
import type { Secret } from '../service/secret.ts';
import { showHome, takeIn } from './announcements.ts';
import { createDeliveryHandlers } from './deliveries.ts';
import type { SlackDeps } from './feature.ts';
import { ACKNOWLEDGE_WITHIN_MS, measureAcknowledgements } from './platform/acknowledgement.ts';
import { boltLogger, createReceiver, type SlackMode } from './platform/receiver.ts';
import { webClientOptions } from './platform/web.ts';
import { createWorkTracker } from './work-tracker.ts';

export interface SlackAppOptions {
  readonly deps: SlackDeps;
  readonly botToken: Secret;
  readonly botUserId: string;
  readonly apiUrl: string | undefined;
  readonly mode: SlackMode;
  /** Told after how many seconds a delivery of a kind was acknowledged, for metrics. */
  readonly acknowledged?: (kind: string, seconds: number) => void;
  /** Commands, shortcuts and presses of one person in a minute; 600 when left out. */
  readonly commandsPerMinute?: number | undefined;
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

/** Joins Bolt and the features: what Slack delivers goes to its feature, and what is under way is known. */
export function createSlackApp(options: SlackAppOptions): SlackApp {
  const { deps, mode } = options;
  const tracker = createWorkTracker(deps.log);
  const receiver = createReceiver(mode, options.apiUrl, deps.log);
  const app = new App({
    receiver: receiver.receiver,
    authorize: async () => ({ botToken: options.botToken.reveal(), botUserId: options.botUserId }),
    clientOptions: webClientOptions(options.apiUrl),
    logger: boltLogger(deps.log),
    convoStore: false,
    ignoreSelf: false,
  });
  const processEvent = app.processEvent.bind(app);
  app.processEvent = async (event) => {
    // Bolt acknowledges an event before any listener sees it.
    await takeIn(deps, tracker, event.body);
    await processEvent(event);
  };
  measureAcknowledgements(app, options.acknowledged ?? (() => undefined));

  // A listener passes on the body and the acknowledgement alone: the rest of what Bolt has made is let go of.
  const { onCommand, onButton, onShortcut, onGlobalShortcut, onForm } = createDeliveryHandlers(
    deps,
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
    if (body.team_id === deps.teamId) showHome(deps, tracker, event);
  });

  let isStopping = false;
  return {
    requestListener: receiver.requestListener,
    start: receiver.start,
    connected: receiver.connected,
    async stop(timeoutMs) {
      const begunAt = performance.now();
      if (!isStopping) {
        isStopping = true;
        // What came over a socket is acknowledged over it.
        if (mode.kind === 'socket') await tracker.settled(Math.min(ACKNOWLEDGE_WITHIN_MS, timeoutMs));
        await receiver.stop();
      }
      return tracker.drained(Math.max(0, timeoutMs - (performance.now() - begunAt)));
    },
  };
}
