import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Agent } from 'undici';
import { z } from 'zod';
import { exchange } from '../../http/exchange.ts';
import {
  createRateLimitError,
  okResponseSchema,
  retryWhenRateLimited,
  SlackApiError,
  type SlackWeb,
} from './web.ts';

const uploadUrlResponseSchema = okResponseSchema.extend({ upload_url: z.url(), file_id: z.string() });
const UPLOAD_TIMEOUT_MS = 120_000;
const MAX_RESPONSE_BYTES = 1_000_000;

const agent = new Agent();

export interface Upload {
  /** The file is on disk and is streamed, so it can be large. */
  readonly path: string;
  readonly filename: string;
  readonly channelId: string;
  readonly threadTs?: string;
  /** Text of the message, as mrkdwn. */
  readonly comment: string;
}

/**
 * See https://docs.slack.dev/messaging/working-with-files#uploading_files.
 * @throws {SlackApiError} if Slack refuses the file
 */
export async function uploadFile(web: SlackWeb, upload: Upload): Promise<void> {
  const { size } = await stat(upload.path);
  const uploadTarget = await retryWhenRateLimited(() =>
    web.call(
      'files.getUploadURLExternal',
      { filename: upload.filename, length: size },
      uploadUrlResponseSchema,
    ),
  );
  await retryWhenRateLimited(() => sendBytes(uploadTarget.upload_url, upload.path, size));
  const completion = {
    files: [{ id: uploadTarget.file_id, title: upload.filename }],
    channel_id: upload.channelId,
    thread_ts: upload.threadTs,
    initial_comment: upload.comment,
  };
  await retryWhenRateLimited(() => web.call('files.completeUploadExternal', completion, okResponseSchema));
}

/** @throws {SlackApiError} if Slack refuses the file */
export async function uploadText(
  web: SlackWeb,
  { text, ...upload }: Omit<Upload, 'path'> & { readonly text: string },
): Promise<void> {
  await useTemporaryFile([text], (path) => uploadFile(web, { ...upload, path }));
}

/** Writes a temporary file, because Slack needs to know the length before the upload. */
export async function useTemporaryFile<Result>(
  chunks: Iterable<string> | AsyncIterable<string>,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-file-'));
  try {
    const path = join(folder, 'file');
    await pipeline(Readable.from(chunks), createWriteStream(path, { mode: 0o600 }));
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Doesn't send the bot's token, because the URL itself authorizes the upload. */
async function sendBytes(url: string, path: string, size: number): Promise<void> {
  const { origin, pathname, search } = new URL(url);
  const { status, headers } = await exchange(
    agent,
    {
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: ['content-type', 'application/octet-stream', 'content-length', String(size)],
      body: createReadStream(path),
    },
    { timeoutMs: UPLOAD_TIMEOUT_MS, maxBytes: MAX_RESPONSE_BYTES },
  ).catch((cause: unknown) => {
    throw new SlackApiError('unreachable', 'file upload', { cause });
  });
  if (status === 429) throw createRateLimitError('file upload', headers['retry-after']);
  if (status !== 200) throw new SlackApiError('refused', 'file upload', { code: `http_${status}` });
}
