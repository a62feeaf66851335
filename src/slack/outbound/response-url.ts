/** In the commercial and government clouds. */
const RESPONSE_URL_HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com']);

/**
 * Whether the bot may call the `response_url` of a request from Slack. Even a signed request must not make
 * the bot call other hosts.
 * @param apiUrl `SLACK_API_URL`, whose server is also allowed
 */
export function isSlackResponseUrl(url: string, apiUrl: string | undefined): boolean {
  return isOnHost(RESPONSE_URL_HOSTS, url, apiUrl);
}

/** Whether the URL uses HTTPS on one of the hosts, or is on the server of `SLACK_API_URL`. */
export function isOnHost(hosts: ReadonlySet<string>, url: string, apiUrl: string | undefined): boolean {
  if (!URL.canParse(url)) return false;
  const { origin, protocol, host, username, password } = new URL(url);
  if (username !== '' || password !== '') return false;
  if (apiUrl !== undefined && origin === new URL(apiUrl).origin) return true;
  return protocol === 'https:' && hosts.has(host);
}
