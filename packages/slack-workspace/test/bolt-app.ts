import { App, HTTPReceiver, LogLevel, SocketModeReceiver } from '@slack/bolt';
import type { Workspace } from '../src/index.ts';

/** Silences Bolt in tests. The workspace records failures. */
const silentLogger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  setName: () => {},
  getLevel: () => LogLevel.ERROR,
};

export interface RunningApp {
  app: App;
  stop(): Promise<void>;
}

/** Starts a real Bolt app that gets signed HTTP requests from the workspace. */
export async function startHttpApp(
  workspace: Workspace,
  signingSecret = workspace.signingSecret,
): Promise<RunningApp> {
  const receiver = new HTTPReceiver({
    signingSecret,
    logger: silentLogger,
    unhandledRequestTimeoutMillis: 10_000,
    processEventErrorHandler: async () => false,
  });
  const app = new App({
    receiver,
    token: workspace.botToken,
    // Otherwise Bolt calls `auth.test` at once. If a short test ends first, the rejection is unhandled.
    tokenVerificationEnabled: false,
    logger: silentLogger,
    clientOptions: {
      slackApiUrl: workspace.apiUrl,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
    },
  });
  const server = await app.start(0);
  const address = 'address' in server ? server.address() : null;
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  workspace.setRequestUrl(`http://127.0.0.1:${port}/slack/events`);
  return {
    app,
    stop: async () => {
      if ('closeAllConnections' in server) server.closeAllConnections();
      await app.stop();
    },
  };
}

/**
 * Starts a real Bolt app in Socket Mode.
 *
 * @param clientPingTimeoutMs how long Bolt waits for a pong, and before it reconnects, in milliseconds
 */
export async function startSocketApp(workspace: Workspace, clientPingTimeoutMs = 5_000): Promise<RunningApp> {
  const clientOptions = { slackApiUrl: workspace.apiUrl, retryConfig: { retries: 0 } };
  const receiver = new SocketModeReceiver({
    appToken: workspace.appToken,
    logger: silentLogger,
    installerOptions: { clientOptions },
    clientPingTimeout: clientPingTimeoutMs,
  });
  const app = new App({
    receiver,
    token: workspace.botToken,
    tokenVerificationEnabled: false,
    logger: silentLogger,
    clientOptions,
  });
  await app.start();
  return { app, stop: async () => void (await receiver.client.disconnect()) };
}
