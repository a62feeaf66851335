/** Hosts of Slack's response URLs, commercial and government cloud. */
const SLACK_HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com']);

/**
 * Whether a delivery's `response_url` may be used. Even a signed delivery must not make the bot call other hosts.
 * @param apiUrl `SLACK_API_URL`, whose server is allowed too
 */
export function isSlackAddress(address: string, apiUrl: string | undefined): boolean {
  return isOnHost(SLACK_HOSTS, address, apiUrl);
}

/** HTTPS on one of the hosts, or the server of `SLACK_API_URL`. */
export function isOnHost(hosts: ReadonlySet<string>, address: string, apiUrl: string | undefined): boolean {
  if (!URL.canParse(address)) return false;
  const { origin, protocol, host, username, password } = new URL(address);
  if (username !== '' || password !== '') return false;
  if (apiUrl !== undefined && origin === new URL(apiUrl).origin) return true;
  return protocol === 'https:' && hosts.has(host);
}
