/*
 * Converts between a place in the page and its URL. A message's URL is its permalink:
 * `/archives/CHANNEL/pTS?thread_ts=TS`. The person is in the fragment, so that windows can show different ones.
 */

export interface Place {
  channel?: string;
  message?: string;
  /** The `ts` of the message whose thread is open. */
  thread?: string;
  /** The Home tab of the app, in the direct message with it. */
  home?: boolean;
}

export interface UrlParts {
  pathname: string;
  search: string;
  hash: string;
}

export function parsePlace({ pathname, search, hash }: UrlParts): Place {
  const [, firstSegment, channel, link] = pathname.split('/');
  if (firstSegment !== 'archives' || channel === undefined || channel === '') return {};
  const message = /^p(\d+)(\d{6})$/.exec(link ?? '');
  const thread = new URLSearchParams(search).get('thread_ts');
  const home = new URLSearchParams(hash.slice(1)).get('tab') === 'home';
  return {
    channel,
    ...(message && { message: `${message[1]}.${message[2]}` }),
    ...(thread !== null && { thread }),
    ...(home && { home }),
  };
}

/** The person's id in the fragment: `U0BOB` in `#as=U0BOB`. */
export function parsePersonId(hash: string): string | undefined {
  return new URLSearchParams(hash.slice(1)).get('as') ?? undefined;
}

export function buildPlaceUrl(place: Place, personId: string): string {
  const link = place.message === undefined ? '' : `/p${place.message.replace('.', '')}`;
  const path = place.channel === undefined ? '/' : `/archives/${place.channel}${link}`;
  const search = place.thread === undefined ? '' : `?thread_ts=${place.thread}`;
  return `${path}${search}#as=${personId}${place.home === true ? '&tab=home' : ''}`;
}
