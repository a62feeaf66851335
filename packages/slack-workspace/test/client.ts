import type { Workspace } from '../src/index.ts';

/** Calls a Web API method with JSON, by default as the bot. */
export async function call(
  workspace: Workspace,
  method: string,
  args: object,
  token: string | undefined = workspace.botToken,
): Promise<Record<string, unknown> & { status: number; headers: Headers }> {
  const response = await fetch(workspace.apiUrl + method, {
    method: 'POST',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(args),
  });
  const text = await response.text();
  const body: unknown = text.startsWith('{') ? JSON.parse(text) : { text };
  return { ...Object(body), status: response.status, headers: response.headers };
}
