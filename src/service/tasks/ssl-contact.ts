import { z } from 'zod';
import { SSL_CONTACT_FIELDS, toWireFields } from '../codec/object-fields.ts';
import { defineTask, returnNothing } from '../task.ts';

const text = z.string().optional();

/**
 * Service API, SSL contact update. `country` has two letters. `phone` and `fax` are in international format. `address`
 * is a list of lines, joined by commas over XML. `fname` and `lname` are documented only for JSON. The id's place isn't
 * documented for XML, so it is the first element of `contact`.
 */
export const sslContactUpdate = defineTask({
  name: 'sslContact.update',
  effect: 'write',
  idempotent: true,
  activity: (input) => `updating the SSL contact ${input.id}`,
  input: z
    .strictObject({
      id: z.union([z.int().positive(), z.string().min(1)]),
      fname: text,
      lname: text,
      title: text,
      organization: text,
      address: z.array(z.string()).optional(),
      pcode: text,
      city: text,
      country: z
        .string()
        .regex(/^[A-Za-z]{2}$/)
        .optional(),
      state: text,
      phone: text,
      fax: text,
      email: text,
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
  output: returnNothing,
});
