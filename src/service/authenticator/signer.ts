import { type Activity, type Deadline, encodeOrThrow, type PreparedRequest } from '../request.ts';
import type { AuthenticatorOptions } from './options.ts';
import { waitForSession } from './session-wait.ts';
import type { Sessions } from './sessions.ts';
import type { Session } from './shared-session.ts';
import type { JsonSignature, XmlSignature } from './signature.ts';
import { type SignedRequest, signWithTaskSignature } from './task-signature.ts';

interface SignatureWithSession<S> {
  readonly signature: S;
  readonly session?: Session;
}

/** Returns a function that signs a request. It first opens a session if needed. */
export function createSigner(options: AuthenticatorOptions, sessions: Sessions) {
  const { credential, sessionPlace: place = 'header' } = options;

  async function createJsonSignature(
    activity: Activity,
    deadline: Deadline,
  ): Promise<SignatureWithSession<JsonSignature>> {
    if (credential.method === 'trusted_application') {
      return { signature: { kind: 'basic', user: credential.uuid, password: credential.password } };
    }
    const { user, context, password } = credential;
    if (options.jsonAuth === 'basic') return { signature: { kind: 'basic', user, context, password } };
    const session = await waitForSession(sessions.json.getOrOpen(), activity, deadline);
    return { signature: { kind: 'session', id: session.key, place }, session };
  }

  async function createXmlSignature(
    activity: Activity,
    deadline: Deadline,
  ): Promise<SignatureWithSession<XmlSignature>> {
    if (credential.method === 'trusted_application') {
      const { uuid, application, password } = credential;
      return { signature: { kind: 'trusted_application', uuid, application, password } };
    }
    if (credential.method === 'password' && options.xmlAuth !== 'session') {
      const { user, context, password } = credential;
      return { signature: { kind: 'auth', user, context, password } };
    }
    const session = await waitForSession(sessions.xml.getOrOpen(), activity, deadline);
    return { signature: { kind: 'auth_session', hash: session.key }, session };
  }

  return async <O>(prepared: PreparedRequest<O>, deadline: Deadline): Promise<SignedRequest> => {
    const signedRequest = signWithTaskSignature(prepared, credential);
    if (signedRequest !== undefined) return signedRequest;
    const { activity, unsignedRequest } = prepared;
    if (unsignedRequest.via === 'json') {
      const { signature, session } = await createJsonSignature(activity, deadline);
      return { request: encodeOrThrow(activity, () => unsignedRequest.sign(signature)), signature, session };
    }
    const { signature, session } = await createXmlSignature(activity, deadline);
    return { request: encodeOrThrow(activity, () => unsignedRequest.sign(signature)), signature, session };
  };
}
