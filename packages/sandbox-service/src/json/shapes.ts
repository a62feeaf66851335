import { z } from 'zod';
import { PREREG_FILTER_KEYS } from '../operations/preregs.ts';

/** The request bodies that the service's API documents. */

const contactReferenceSchema = z.strictObject({ id: z.int().positive() });
const nameServersSchema = z.array(z.strictObject({ name: z.string() }));
const contactFields = {
  ownerc: contactReferenceSchema,
  adminc: contactReferenceSchema,
  techc: contactReferenceSchema,
};

export const loginSchema = z.strictObject({ user: z.string(), context: z.int(), password: z.string() });

const parentSchema = z.strictObject({
  context: z.int(),
  defaultEmail: z.string().optional(),
  status: z.int().optional(),
  substatus: z.int().optional(),
  authType: z.literal('PASSWORD').optional(),
  lock: z.literal('NONE').optional(),
  user: z.string(),
});

export const userCreateSchema = z.strictObject({
  user: z.string(),
  context: z.int(),
  defaultEmail: z.string(),
  password: z.string().optional(),
  status: z.int().optional(),
  substatus: z.int().optional(),
  language: z.string().optional(),
  parent: parentSchema.optional(),
});

export const redirectUpdateSchema = z.strictObject({
  source: z.string(),
  target: z.string(),
  type: z.literal('DOMAIN'),
  mode: z.literal('HTTP'),
});

export const sslContactUpdateSchema = z.strictObject({
  fname: z.string().optional(),
  lname: z.string().optional(),
  title: z.string().optional(),
  organization: z.string().optional(),
  address: z.array(z.string()).optional(),
  pcode: z.string().optional(),
  city: z.string().optional(),
  country: z.string().optional(),
  state: z.string().optional(),
  phone: z.string().optional(),
  fax: z.string().optional(),
  email: z.string().optional(),
});

export const preregSearchSchema = z.strictObject({
  view: z.strictObject({ children: z.boolean(), offset: z.int(), limit: z.int() }),
  filters: z.array(
    z.strictObject({
      key: z.enum(PREREG_FILTER_KEYS),
      operator: z.literal('EQUAL'),
      value: z.union([z.string(), z.int()]),
    }),
  ),
});

export const domainCreateSchema = z.strictObject({
  name: z.string(),
  ...contactFields,
  nameServers: nameServersSchema,
  confirmOrder: z.boolean(),
});

export const domainTransferSchema = z.strictObject({
  name: z.string(),
  auth: z.string(),
  ...contactFields,
  nameServers: nameServersSchema,
});

export const domainRenewSchema = z.strictObject({ period: z.int() });

export const domainUpdateSchema = z.strictObject({ nameServers: nameServersSchema });
