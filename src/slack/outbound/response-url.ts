/** Where Slack's own addresses for answers lead, in its commercial and in its government cloud. */
const SLACK_HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com']);

/**
 * Whether an answer may be posted to a delivery's `response_url`. Not even a signed delivery may have the bot call an
 * address outside of Slack.
 * @param apiUrl `SLACK_API_URL`, whose own server may be answered too
 */
export function isSlackAddress(address: string, apiUrl: string | undefined): boolean {
  return leadsTo(SLACK_HOSTS, address, apiUrl);
}

/** Whether an address leads to one of Slack's hosts over https, or to the server of `SLACK_API_URL`. */
export function leadsTo(hosts: ReadonlySet<string>, address: string, apiUrl: string | undefined): boolean {
  if (!URL.canParse(address)) return false;
  const { origin, protocol, host, username, password } = new URL(address);
  if (username !== '' || password !== '') return false;
  if (apiUrl !== undefined && origin === new URL(apiUrl).origin) return true;
  return protocol === 'https:' && hosts.has(host);
}
