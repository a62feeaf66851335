import { orInvalidInput, type PreparedRequest, type Signed } from '../request.ts';
import type { Session } from './shared-session.ts';
import type { Credential } from './signature.ts';
export interface SignedRequest extends Signed {
  readonly session?: Session | undefined;
}

export function signByTask<O>(
  { activity, unsigned, signature: ofTask }: PreparedRequest<O>,
  credential: Credential,
): SignedRequest | undefined {
  if (unsigned.via === 'json') {
    const signature = ofTask?.json();
    if (signature === undefined) return undefined;
    return { request: orInvalidInput(activity, () => unsigned.sign(signature)), signature };
  }
  const signature = orInvalidInput(activity, () => ofTask?.xml(credential));
  if (signature === undefined) return undefined;
  return { request: orInvalidInput(activity, () => unsigned.sign(signature)), signature };
}
