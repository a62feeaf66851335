import { z } from 'zod';
import { REDIRECT_FIELDS, toWireFields } from '../codec/object-fields.ts';
import { defineTask, returnNothing } from '../task.ts';

/**
 * See “Redirect update” in the service's API documentation. `source` identifies the redirect. An update can't
 * change `source` or `type`. JSON documents the type `DOMAIN` and the mode `HTTP`. XML documents the types
 * `domain` and `email`, the modes `frame` and `single`, `title` and `backup`.
 */
export const redirectUpdate = defineTask({
  name: 'redirect.update',
  effect: 'write',
  idempotent: true,
  describeActivity: (input) => `updating the redirect ${input.source}`,
  input: z.strictObject({
    source: z.string().min(1),
    target: z.string().min(1),
    type: z.enum(['DOMAIN', 'domain', 'email']),
    mode: z.enum(['HTTP', 'frame', 'single']),
    title: z.string().optional(),
    backup: z.string().optional(),
  }),
  json: {
    method: 'PUT',
    path: (input) => ['redirect', input.source],
    body: (input) => toWireFields('json', REDIRECT_FIELDS, input),
  },
  xml: { code: '0502', elements: (input) => ({ redirect: toWireFields('xml', REDIRECT_FIELDS, input) }) },
  parseOutput: returnNothing,
});
