import { z } from 'zod';
import { toWireFields, USER_FIELDS } from '../codec/object-fields.ts';
import type { Message } from '../envelope.ts';
import { Secret, secretFieldSchema } from '../secret.ts';
import { defineTask, type TaskResult } from '../task.ts';

const context = z.int().nonnegative();
const status = z.int().nonnegative();
const user = z.string().min(1);

export interface CreatedUser {
  /** The password that the service generated, if none was given. */
  readonly password?: Secret;
}

/** The message with a generated password. See “User” in the service's API documentation. */
const PASSWORD_GENERATED_CODE = 'MSG13004';

/**
 * Creates a user or, with `parent`, a sub-user of a sub-user. Without `password`, the service generates one.
 * Documented example values are 1 and 2 for `status`, and 0, 1 and 2 for `substatus`. Over XML, the parent is
 * sent as `owner`, which has only a user and a context. The place of `userMailKey` isn't documented, so it is
 * the last element of `user`.
 */
export const userCreate = defineTask({
  name: 'user.create',
  effect: 'write',
  describeActivity: (input) => `creating the user ${input.user}`,
  input: z.strictObject({
    user,
    context,
    defaultEmail: z.string().min(1),
    password: secretFieldSchema.optional(),
    status: status.optional(),
    substatus: status.optional(),
    language: z
      .string()
      .regex(/^[A-Za-z]{2}$/)
      .optional(),
    parent: z
      .strictObject({
        user,
        context,
        defaultEmail: z.string().min(1).optional(),
        status: status.optional(),
        substatus: status.optional(),
      })
      .optional(),
    userMailKey: z.string().min(1).optional(),
  }),
  json: { method: 'POST', path: () => ['user'], body: (input) => toWireFields('json', USER_FIELDS, input) },
  xml: { code: '1301001', elements: (input) => ({ user: toWireFields('xml', USER_FIELDS, input) }) },
  readsSecrets: true,
  parseOutput: ({ envelope }): TaskResult<CreatedUser> => {
    const password = findGeneratedPassword(envelope.messages);
    return {
      output: password === undefined ? {} : { password: new Secret(password) },
      secrets: password === undefined ? [] : [password],
    };
  },
});

/**
 * If no message has an object of type `password`, the notice's whole text is treated as the password, because
 * the password must be neither lost nor exposed.
 */
function findGeneratedPassword(messages: readonly Message[]): string | undefined {
  const objects = messages.flatMap((message) => message.objects);
  const passwordObject = objects.find(({ type, value }) => type.toLowerCase() === 'password' && value !== '');
  if (passwordObject !== undefined) return passwordObject.value;
  return messages.find(({ code }) => code?.trim() === PASSWORD_GENERATED_CODE)?.text;
}
