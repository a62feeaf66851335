import { z } from 'zod';
import type { Core } from '../core.ts';
import { SlackError } from '../errors.ts';
import { findMentions } from '../mentions.ts';
import { requireWritableChannel } from '../messages.ts';
import type { FileInfo, JsonObject } from '../protocol.ts';
import { getBotAuthor } from '../state.ts';
import { defineMethod, jsonArgument, type Method, numberArgument } from './method.ts';

const MIME_TYPES: Record<string, string> = {
  csv: 'text/csv',
  ics: 'text/calendar',
  json: 'application/json',
  txt: 'text/plain',
};

const filesGetUploadUrl = defineMethod(
  ['files:write'],
  z.object({ filename: z.string().min(1), length: numberArgument }),
  (core, args) => {
    if (args.length <= 0) throw new SlackError('invalid_arguments');
    const id = core.state.nextId('F');
    core.state.uploads.set(id, { name: args.filename, byteLength: args.length });
    return { upload_url: `${core.origin}/upload/${id}`, file_id: id };
  },
);

/** @returns false if there is no such upload or the length differs */
export function receiveUpload(core: Core, fileId: string, content: Buffer): boolean {
  const upload = core.state.uploads.get(fileId);
  if (!upload || content.length !== upload.byteLength) return false;
  upload.content = content;
  return true;
}

const filesCompleteUpload = defineMethod(
  ['files:write'],
  z.object({
    files: jsonArgument,
    channel_id: z.string().optional(),
    initial_comment: z.string().optional(),
    thread_ts: z.string().optional(),
  }),
  (core, args) => {
    const parsed = z
      .array(z.object({ id: z.string(), title: z.string().optional() }))
      .min(1)
      .safeParse(args.files);
    if (!parsed.success) throw new SlackError('invalid_arguments');
    const files = parsed.data.map(({ id, title }) => storeUploadedFile(core, id, title));
    if (args.channel_id !== undefined)
      shareFiles(core, args.channel_id, files, args.initial_comment, args.thread_ts);
    return { files: files.map((file): JsonObject => ({ ...file })) };
  },
);

function storeUploadedFile(core: Core, id: string, title: string | undefined): FileInfo {
  const upload = core.state.uploads.get(id);
  if (!upload?.content) throw new SlackError('file_not_found');
  const extension = upload.name.split('.').at(-1)?.toLowerCase() ?? '';
  const info: FileInfo = {
    id,
    name: upload.name,
    title: title ?? upload.name,
    mimetype:
      (Object.hasOwn(MIME_TYPES, extension) ? MIME_TYPES[extension] : undefined) ??
      'application/octet-stream',
    size: upload.content.length,
    url_private_download: `/files/${id}/${encodeURIComponent(upload.name)}`,
  };
  core.state.files.set(id, { info, content: upload.content });
  core.state.uploads.delete(id);
  return info;
}

/**
 * Stores a file as if a person had uploaded it in a form.
 * @returns the id of the file
 */
export function storePrivateFile(core: Core, name: string, content: Buffer): string {
  const id = core.state.nextId('F');
  core.state.uploads.set(id, { name, byteLength: content.length, content });
  storeUploadedFile(core, id, undefined);
  return id;
}

/** @throws Error if there is no such file */
export function toFilePayload(core: Core, id: string): JsonObject {
  const file = core.state.files.get(id);
  if (!file) throw new Error(`there is no file ${id}`);
  const url = `${core.origin}/files-pri/${id}/${encodeURIComponent(file.info.name)}`;
  return { ...file.info, url_private: url, url_private_download: url };
}

/** @returns undefined if there is no such file, or if the token can't read files */
export function readPrivateFile(
  core: Core,
  id: string,
  authorization: string | undefined,
): Buffer | undefined {
  const canReadFiles = core.scopes === undefined || core.scopes.includes('files:read');
  return canReadFiles && authorization === `Bearer ${core.botToken}`
    ? core.state.files.get(id)?.content
    : undefined;
}

function shareFiles(core: Core, channelId: string, files: FileInfo[], comment = '', threadTs?: string): void {
  // User ids are rejected, because the app must open the direct message first.
  if (!core.state.channels.has(channelId)) throw new SlackError('channel_not_found');
  const channel = requireWritableChannel(core, channelId);
  core.state.addMessage({
    type: 'message',
    channel: channel.id,
    ts: core.state.nextTs(),
    ...getBotAuthor(),
    text: comment,
    blocks: [],
    files,
    ...(threadTs !== undefined && { thread_ts: threadTs }),
    notifies: findMentions(comment, []),
  });
}

export const fileMethods: Record<string, Method> = {
  'files.getUploadURLExternal': filesGetUploadUrl,
  'files.completeUploadExternal': filesCompleteUpload,
};
