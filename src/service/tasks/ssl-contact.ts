import { z } from 'zod';
import { SSL_CONTACT_FIELDS, toWireFields } from '../codec/object-fields.ts';
import { defineTask, returnNothing } from '../task.ts';

const optionalText = z.string().optional();

/**
 * See “SSL contact update” in the service's API documentation. `phone` and `fax` are in international format.
 * `address` is a list of lines, joined by commas over XML. The id's place isn't documented for XML, so it is
 * the first element of `contact`.
 */
export const sslContactUpdate = defineTask({
  name: 'sslContact.update',
  effect: 'write',
  idempotent: true,
  describeActivity: (input) => `updating the SSL contact ${input.id}`,
  input: z
    .strictObject({
      id: z.union([z.int().positive(), z.string().min(1)]),
      fname: optionalText,
      lname: optionalText,
      title: optionalText,
      organization: optionalText,
      address: z.array(z.string()).optional(),
      pcode: optionalText,
      city: optionalText,
      country: z
        .string()
        .regex(/^[A-Za-z]{2}$/)
        .optional(),
      state: optionalText,
      phone: optionalText,
      fax: optionalText,
      email: optionalText,
    })
    .refine(({ id, ...fields }) => Object.values(fields).some((field) => field !== undefined), {
      error: 'has nothing to update',
    }),
  json: {
    method: 'PUT',
    path: (input) => ['sslcontact', String(input.id)],
    body: ({ id, ...fields }) => toWireFields('json', SSL_CONTACT_FIELDS, fields),
  },
  xml: { code: '400202', elements: (input) => ({ contact: toWireFields('xml', SSL_CONTACT_FIELDS, input) }) },
  parseOutput: returnNothing,
});
