import { randomInt } from 'node:crypto';
import type { UserRecord } from '../model.ts';
import { Refusal } from '../refusal.ts';
import { looksLikeEmail } from '../rules.ts';
import type { Caller, ServiceState } from './caller.ts';

export interface UserCreateInput {
  readonly user: string;
  readonly context: number;
  readonly defaultEmail: string;
  readonly password?: string | undefined;
  readonly status?: number | undefined;
  readonly substatus?: number | undefined;
  readonly language?: string | undefined;
  /** The user to whom the new sub-user belongs. By default, the caller. */
  readonly parent?: { readonly user: string; readonly context: number } | undefined;
}

/** “Limits” in the service's API documentation. */
const GENERATED_PASSWORD_LENGTH = 15;
const PASSWORD_CHARACTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';

/**
 * Creates a user below the caller or one of the caller's sub-users (“User” in the service's API documentation).
 * @returns the generated password, unless one was given
 */
export function createUser(
  service: ServiceState,
  caller: Caller,
  input: UserCreateInput,
): { generatedPassword?: string } {
  checkInput(input);
  const parentReference = input.parent ?? { user: caller.user, context: caller.context };
  if (input.context !== caller.context || parentReference.context !== caller.context) {
    throw new Refusal(
      'forbidden',
      `context: users can only be created in the caller's context, ${caller.context}`,
    );
  }
  const parentUser = service.state.findUser(parentReference.user, parentReference.context);
  if (parentUser === undefined || parentUser.group !== caller.group) {
    throw new Refusal('not_found', `parent.user: there is no user ${parentReference.user} in this account`);
  }
  if (service.state.findUser(input.user, input.context) !== undefined) {
    throw new Refusal('conflict', `user: ${input.user} already exists in context ${input.context}`);
  }
  const password = input.password ?? generatePassword();
  service.state.addUser({
    user: input.user,
    context: input.context,
    group: caller.group,
    password,
    defaultEmail: input.defaultEmail,
    status: input.status ?? 1,
    substatus: input.substatus ?? 0,
    language: input.language ?? parentUser.language,
    owner: { user: parentUser.user, context: parentUser.context },
  });
  return input.password === undefined ? { generatedPassword: password } : {};
}

function checkInput(input: UserCreateInput): void {
  if (!/^[^\s:,\p{Cc}]{1,64}$/u.test(input.user)) {
    throw new Refusal('rule', 'user: 1 to 64 characters without spaces, colons and commas');
  }
  if (!looksLikeEmail(input.defaultEmail)) throw new Refusal('rule', 'defaultEmail: not an e-mail address');
  if (input.password === '') throw new Refusal('rule', 'password: leave it out to have one generated');
  if (input.language !== undefined && !/^[a-z]{2}$/.test(input.language)) {
    throw new Refusal('rule', 'language: a two-letter code in lower case');
  }
}

function generatePassword(): string {
  return Array.from(
    { length: GENERATED_PASSWORD_LENGTH },
    () => PASSWORD_CHARACTERS[randomInt(PASSWORD_CHARACTERS.length)],
  ).join('');
}

/** Formats a user for the response to a login. */
export function formatPublicUser(user: UserRecord): Record<string, unknown> {
  const { context, defaultEmail, status, substatus, owner, language } = user;
  return { user: user.user, context, defaultEmail, status, substatus, owner, language };
}
