import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** Headers of a request that the bot's pages look at. */
const PASSED_ON = ['content-type', 'origin'];

/** Passes a request on to a port of this machine, and its answer back. */
export async function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  port: number,
): Promise<void> {
  const headers = PASSED_ON.flatMap((name) => {
    const value = request.headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  const answer = await fetch(`http://127.0.0.1:${port}${request.url ?? '/'}`, {
    method: request.method ?? 'GET',
    headers: Object.fromEntries(headers),
    ...(request.method === 'POST' ? { body: await buffer(request) } : {}),
  });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
}
