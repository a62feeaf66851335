import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';

const FORWARDED_HEADERS = ['content-type', 'origin'];

const finishedSchema = z.object({ done: z.literal(true), title: z.string() });

/**
 * Proxies a request to one of the bot's pages.
 * @returns the title of the ceremony, if the request finished one
 */
export async function proxyPage(
  request: IncomingMessage,
  response: ServerResponse,
  port: number,
): Promise<string | undefined> {
  const headers = FORWARDED_HEADERS.flatMap((name) => {
    const value = request.headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  const answer = await fetch(`http://127.0.0.1:${port}${request.url ?? '/'}`, {
    method: request.method ?? 'GET',
    headers: Object.fromEntries(headers),
    ...(request.method === 'POST' ? { body: await buffer(request) } : {}),
  });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  const body = Buffer.from(await answer.arrayBuffer());
  response.end(body);
  return request.method === 'POST' && answer.ok
    ? finishedSchema.safeParse(JSON.parse(body.toString())).data?.title
    : undefined;
}
