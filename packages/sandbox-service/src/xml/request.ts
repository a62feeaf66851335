import { type Claim, isUuid } from '../access.ts';
import { Refusal } from '../refusal.ts';
import { readChildren, readText, readTexts, type XmlElement } from './codec.ts';

/* An XML request has an authentication block, then a task (“XML interface” in the service's API documentation). */

const AUTHENTICATION_BLOCKS = ['auth', 'auth_session', 'authentication'];

/** @throws {Refusal} 400 if the structure isn't documented, 401 if there is no authentication block */
export function splitRequest(root: XmlElement): { authBlock: XmlElement; code: string; task: XmlElement } {
  if (root.name !== 'request')
    throw new Refusal('malformed', `the root element must be request, not ${root.name}`);
  readChildren(root, { auth: 'optional', auth_session: 'optional', authentication: 'optional', task: 'one' });
  const [authBlock, task, ...others] = root.children;
  if (authBlock?.name === 'task' && task === undefined) {
    throw new Refusal('unauthenticated', 'request: there is no authentication block');
  }
  if (
    authBlock === undefined ||
    !AUTHENTICATION_BLOCKS.includes(authBlock.name) ||
    task?.name !== 'task' ||
    others.length > 0
  ) {
    throw new Refusal('malformed', 'request: expected one authentication block, then the task');
  }
  const codes = task.children.filter((child) => child.name === 'code');
  const [code] = codes;
  if (code === undefined || codes.length > 1)
    throw new Refusal('malformed', 'task: expected exactly one code element');
  return { authBlock, code: readText(code), task };
}

/** @throws {Refusal} 400 if the block isn't documented */
export function readClaim(block: XmlElement): Claim {
  switch (block.name) {
    case 'auth_session': {
      const id = readTexts(block, ['hash']).required('hash');
      if (!isUuid(id)) throw new Refusal('malformed', 'auth_session: hash is not a UUID');
      return { kind: 'session', id };
    }
    case 'authentication':
      return readTrustedApplication(block);
    default:
      return readCredentials(block);
  }
}

function readCredentials(block: XmlElement): Claim {
  const texts = readTexts(block, ['user', 'context', 'password', 'token']);
  const token = texts.optional('token');
  if (token !== undefined && !/^[0-9]{6}$/.test(token))
    throw new Refusal('malformed', 'token: expected six digits');
  return {
    kind: 'credentials',
    user: texts.required('user'),
    context: readInteger('context', texts.required('context')),
    password: texts.required('password'),
    ...(token !== undefined && { token }),
  };
}

function readTrustedApplication(block: XmlElement): Claim {
  const [applicationBlock] = readChildren(block, { trusted_application: 'one' })('trusted_application');
  if (applicationBlock === undefined)
    throw new Refusal('malformed', 'authentication: trusted_application is missing');
  const getChildren = readChildren(applicationBlock, { uuid: 'one', password: 'one', application: 'one' });
  const readSingleText = (name: 'uuid' | 'password'): string => getChildren(name).map(readText).join('');
  return {
    kind: 'trusted_application',
    uuid: readSingleText('uuid'),
    password: readSingleText('password'),
    application: getChildren('application')
      .map((application) => readTexts(application, ['name']).required('name'))
      .join(''),
  };
}

/** @throws {Refusal} 400 unless the text is a non-negative integer of at most nine digits */
export function readInteger(name: string, text: string): number {
  if (!/^(?:0|[1-9][0-9]{0,8})$/.test(text)) throw new Refusal('malformed', `${name}: not an integer`);
  return Number(text);
}

export function readOneOf<T extends string>(name: string, text: string, values: readonly T[]): T {
  const value = values.find((known) => known === text);
  if (value === undefined) throw new Refusal('malformed', `${name}: must be one of ${values.join(', ')}`);
  return value;
}
