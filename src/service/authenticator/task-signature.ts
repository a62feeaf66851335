import { encodeOrThrow, type PreparedRequest, type SignedHttpRequest } from '../request.ts';
import type { Session } from './shared-session.ts';
import type { Credential } from './signature.ts';

export interface SignedRequest extends SignedHttpRequest {
  readonly session?: Session | undefined;
}

export function signWithTaskSignature<O>(
  { activity, unsignedRequest, taskSignature }: PreparedRequest<O>,
  credential: Credential,
): SignedRequest | undefined {
  if (unsignedRequest.via === 'json') {
    const signature = taskSignature?.json();
    if (signature === undefined) return undefined;
    return { request: encodeOrThrow(activity, () => unsignedRequest.sign(signature)), signature };
  }
  const signature = encodeOrThrow(activity, () => taskSignature?.xml(credential));
  if (signature === undefined) return undefined;
  return { request: encodeOrThrow(activity, () => unsignedRequest.sign(signature)), signature };
}
