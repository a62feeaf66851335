import { Agent } from 'undici';
import { exchange, HttpExchangeError, type HttpResponse } from '../../http/exchange.ts';
import type { Secret } from '../../service/secret.ts';
import { isOnHost } from './response-url.ts';
import { createRateLimitError, retryWhenRateLimited, SlackApiError } from './web.ts';

/**
 * Reads an attached file.
 * @throws {SlackApiError} if the file can't be read
 */
export type ReadFile = (url: string) => Promise<Uint8Array>;

/** Slack's hosts for files, in the commercial and government clouds. */
const FILE_HOSTS: ReadonlySet<string> = new Set(['files.slack.com', 'files.slack-gov.com']);
const DOWNLOAD_TIMEOUT_MS = 20_000;

const agent = new Agent();

/** Whether the bot's token may be sent to the URL. Even a signed request must not leak it elsewhere. */
export function isSlackFileUrl(url: string, apiUrl: string | undefined): boolean {
  return isOnHost(FILE_HOSTS, url, apiUrl);
}

/**
 * Downloads private files with the bot's token. See https://docs.slack.dev/reference/objects/file-object.
 * @param maxBytes larger files cause a `too_large` error
 */
export function createFileReader(token: Secret, apiUrl: string | undefined, maxBytes: number): ReadFile {
  return (url) => retryWhenRateLimited(() => readFile(url));

  async function readFile(url: string): Promise<Uint8Array> {
    if (!isSlackFileUrl(url, apiUrl))
      throw new SlackApiError('refused', 'file download', { code: 'not_a_file_address' });
    const { origin, pathname, search } = new URL(url);
    const { status, headers, body } = await exchange(
      agent,
      {
        origin,
        path: `${pathname}${search}`,
        method: 'GET',
        headers: ['authorization', `Bearer ${token.reveal()}`],
      },
      { timeoutMs: DOWNLOAD_TIMEOUT_MS, maxBytes },
    ).catch((cause: unknown) => {
      if (cause instanceof HttpExchangeError && cause.failure === 'too_large')
        throw new SlackApiError('refused', 'file download', { code: 'too_large', cause });
      throw new SlackApiError('unreachable', 'file download', { cause });
    });
    if (status === 429) throw createRateLimitError('file download', headers['retry-after']);
    if (status === 404 || status === 410)
      throw new SlackApiError('refused', 'file download', { code: 'file_deleted' });
    if ((status >= 300 && status < 400) || status === 401 || status === 403) throw createMissingScopeError();
    if (status !== 200) throw new SlackApiError('unreachable', 'file download', { code: `http_${status}` });
    if (body === undefined)
      throw new SlackApiError('unreachable', 'file download', { code: 'content_coding' });
    if (isSignInPage(headers, body)) throw createMissingScopeError();
    return body;
  }
}

/** Without permission, Slack redirects to its sign-in page or responds with that page. */
function isSignInPage(headers: HttpResponse['headers'], body: Buffer): boolean {
  return (
    String(headers['content-type']).startsWith('text/html') ||
    /^\s*<(?:!doctype html|html)\b/i.test(body.toString('latin1', 0, 200))
  );
}

function createMissingScopeError(): SlackApiError {
  return new SlackApiError('refused', 'file download', { code: 'missing_scope', needed: 'files:read' });
}
