import { z } from 'zod';

/**
 * The sandbox's state, in memory and in the state file. Times are in milliseconds since the epoch.
 * Contexts share no records. Context 1 is the demo system; the others are live. Within a context, the users of a
 * group share domains, contacts and redirects.
 */

const userSchema = z.strictObject({
  user: z.string(),
  context: z.int(),
  group: z.string(),
  password: z.string(),
  defaultEmail: z.string(),
  status: z.int(),
  substatus: z.int(),
  language: z.string(),
  owner: z.strictObject({ user: z.string(), context: z.int() }),
  /** The shared secret of a two-factor user, in base32. */
  totpSecret: z.string().optional(),
  /** The time step of the last accepted token. This step and earlier ones are refused (RFC 6238, section 5.2). */
  lastTotpStep: z.int().optional(),
});
export type UserRecord = z.infer<typeof userSchema>;

const trustedApplicationSchema = z.strictObject({
  uuid: z.string(),
  application: z.string(),
  password: z.string(),
  /** The user on whose behalf the application acts. */
  user: z.string(),
  context: z.int(),
});
export type TrustedApplicationRecord = z.infer<typeof trustedApplicationSchema>;

const pendingTransferSchema = z.strictObject({
  group: z.string(),
  completesAt: z.number(),
  ownerc: z.int(),
  adminc: z.int(),
  techc: z.int(),
  nameServers: z.array(z.string()),
});

const domainSchema = z.strictObject({
  name: z.string(),
  context: z.int(),
  group: z.string(),
  created: z.number(),
  updated: z.number(),
  expires: z.number(),
  ownerc: z.int(),
  adminc: z.int(),
  techc: z.int(),
  nameServers: z.array(z.string()),
  authCode: z.string(),
  /** Transfers are refused until this time. */
  transferLockUntil: z.number().optional(),
  deletedAt: z.number().optional(),
  /** When the domain was last transferred from another customer. */
  transferredAt: z.number().optional(),
  pendingTransfer: pendingTransferSchema.optional(),
});
export type DomainRecord = z.infer<typeof domainSchema>;

const contactSchema = z.strictObject({ id: z.int(), context: z.int(), group: z.string(), email: z.string() });

const redirectSchema = z.strictObject({
  source: z.string(),
  context: z.int(),
  group: z.string(),
  target: z.string(),
  type: z.enum(['domain', 'email']),
  mode: z.enum(['http', 'frame', 'single']),
  title: z.string().optional(),
  backup: z.string().optional(),
  domain: z.string(),
  created: z.number(),
  updated: z.number(),
});
export type RedirectRecord = z.infer<typeof redirectSchema>;

const sslContactSchema = z.strictObject({
  id: z.int(),
  context: z.int(),
  group: z.string(),
  fields: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
});
export type SslContactRecord = z.infer<typeof sslContactSchema>;

const preregSchema = z.strictObject({
  id: z.int(),
  group: z.string(),
  name: z.string(),
  created: z.number(),
  updated: z.number(),
  owner: z.strictObject({ user: z.string(), context: z.int() }),
  ownerc: z.int(),
  zonec: z.int(),
  adminc: z.int(),
  techc: z.int(),
  nameServers: z.array(z.string()),
  status: z.string(),
  phase: z.string(),
  orderReference: z.string(),
  period: z.int(),
  recommended: z.boolean(),
  confirmed: z.boolean(),
  config: z.strictObject({
    confirmation_start: z.number(),
    confirmation_end: z.number(),
    period_start: z.number(),
    period_end: z.number(),
  }),
});
export type PreregRecord = z.infer<typeof preregSchema>;

const chargeSchema = z.strictObject({
  at: z.number(),
  task: z.enum(['domain.create', 'domain.transfer', 'domain.renew', 'domain.restore']),
  name: z.string(),
  context: z.int(),
  user: z.string(),
  years: z.int(),
  ctid: z.string().optional(),
});
export type Charge = z.infer<typeof chargeSchema>;

export const stateSchema = z.strictObject({
  version: z.literal(1),
  /** The port of the last run, so that stored URLs still work after a restart. */
  port: z.int().optional(),
  nextTransaction: z.int(),
  users: z.array(userSchema),
  trustedApplications: z.array(trustedApplicationSchema),
  domains: z.array(domainSchema),
  contacts: z.array(contactSchema),
  redirects: z.array(redirectSchema),
  sslContacts: z.array(sslContactSchema),
  preregs: z.array(preregSchema),
  charges: z.array(chargeSchema),
});
export type StateData = z.infer<typeof stateSchema>;
