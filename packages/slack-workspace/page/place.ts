/*
 * The place in the page, as in its URL. Messages have the URL of their link: `/archives/CHANNEL/pTS?thread_ts=TS`. The
 * person is in the fragment, so that each window can have another one.
 */

export interface Place {
  channel?: string;
  message?: string;
  /** The `ts` of the message whose thread is open. */
  thread?: string;
  /** The Home tab of the app, in the direct message with it. */
  home?: boolean;
}

export interface Address {
  pathname: string;
  search: string;
  hash: string;
}

export function readPlace({ pathname, search, hash }: Address): Place {
  const [, first, channel, link] = pathname.split('/');
  if (first !== 'archives' || channel === undefined || channel === '') return {};
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

/** The id of the person in the fragment, such as `U0BOB` of `#as=U0BOB`. */
export function readPerson(hash: string): string | undefined {
  return new URLSearchParams(hash.slice(1)).get('as') ?? undefined;
}

export function addressOf(place: Place, person: string): string {
  const link = place.message === undefined ? '' : `/p${place.message.replace('.', '')}`;
  const path = place.channel === undefined ? '/' : `/archives/${place.channel}${link}`;
  const search = place.thread === undefined ? '' : `?thread_ts=${place.thread}`;
  return `${path}${search}#as=${person}${place.home === true ? '&tab=home' : ''}`;
}
