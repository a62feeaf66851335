import { encodeOrThrow, type PreparedRequest, type SignedTask } from '../request.ts';
import type { Session } from './shared-session.ts';
import type { Credential } from './signature.ts';

export interface SignedRequest extends SignedTask {
  readonly session?: Session | undefined;
}

export function signWithTaskSignature<O>(
  { activity, unsigned, signature: taskSignature }: PreparedRequest<O>,
  credential: Credential,
): SignedRequest | undefined {
  if (unsigned.via === 'json') {
    const signature = taskSignature?.json();
    if (signature === undefined) return undefined;
    return { request: encodeOrThrow(activity, () => unsigned.sign(signature)), signature };
  }
  const signature = encodeOrThrow(activity, () => taskSignature?.xml(credential));
  if (signature === undefined) return undefined;
  return { request: encodeOrThrow(activity, () => unsigned.sign(signature)), signature };
}
