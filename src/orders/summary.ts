import { z } from 'zod';
import { SIGNATURE_DIFFERENCES } from '../approvals/signing/difference.ts';
import { holdReasonSchema } from '../mandates/codes.ts';
import { storedRuleSchema } from '../policy/stored-requirements.ts';
import { requestIssueSchema } from '../service/request-issue.ts';
import { inputIssueSchema } from './input-issue.ts';

/**
 * Codes for the bot's own summaries of items and events. The codes are stored with orders, so don't remove or rename
 * released ones.
 */

const PLAIN_CODES = [
  'account_gone',
  'answered_done',
  'database_restored',
  'decryption_failed',
  'done',
  'error_while_sending',
  /** The mandate, which sends nothing itself, has started. */
  'in_force',
  'log_differs',
  'may_also_be_sent',
  'no_answer',
  'no_answer_known',
  'no_readable_answer',
  'not_prepared',
  'not_reached',
  'owner_left',
  'pause_expired',
  'refused',
  'requester_left',
  'sent_again',
  'service_busy',
  'session_ended',
  'stopped',
  'stopped_while_sending',
  'suspended',
  'team_account_gone',
  'tokens_used_up',
  'unclear_answer',
] as const;

/** Parts of a statement that can differ from the request. */
export const STATEMENT_PARTS = [
  'account',
  'hash',
  'input',
  'names',
  'secret',
  'service',
  'task',
  'time',
] as const;
export type StatementPart = (typeof STATEMENT_PARTS)[number];

/** Problems with an order's approvals when it is sent. */
export const SENDING_DIFFERENCES = [...SIGNATURE_DIFFERENCES, 'count', 'refused', 'no_keys'] as const;
export type SendingDifference = (typeof SENDING_DIFFERENCES)[number];

export const LOG_DIFFERENCES = ['missing', 'older', 'sent', 'ended'] as const;
export type LogDifference = (typeof LOG_DIFFERENCES)[number];

const plainSummarySchemas = [
  z.object({ code: z.enum(PLAIN_CODES) }),
  z.object({
    code: z.literal('account_refused'),
    account: z.string(),
    /** Omitted for a personal account. */
    isTeamAccount: z.boolean().exactOptional(),
  }),
  /** An earlier order has carried out the task, or still may. */
  z.object({ code: z.literal('earlier_order'), orderId: z.string(), outcome: z.enum(['done', 'open']) }),
  z.object({ code: z.literal('request_invalid'), issue: requestIssueSchema }),
  z.object({ code: z.literal('rules_changed'), issues: z.array(inputIssueSchema) }),
  /** The policy refused the order when it was due. */
  z.object({ code: z.literal('policy_refuses'), rules: z.array(storedRuleSchema) }),
  /** The mandate didn't allow the order to be sent. */
  z.object({ code: z.literal('mandate_held'), holdReason: holdReasonSchema }),
  /** The order's rows no longer match the statement that people saw. */
  z.object({ code: z.literal('statement_changed'), parts: z.array(z.enum(STATEMENT_PARTS)) }),
  z.object({ code: z.literal('not_signed'), differs: z.array(z.enum(SENDING_DIFFERENCES)) }),
  z.object({ code: z.literal('settled'), outcome: z.enum(['SUCCEEDED', 'FAILED']) }),
] as const;
const plainSummarySchema = z.discriminatedUnion('code', plainSummarySchemas);

const earlierUnansweredSchema = z.object({
  code: z.literal('earlier_unanswered'),
  /** The outcome of the latest request. An earlier request may have been carried out. */
  since: plainSummarySchema,
});

const requestSummarySchema = z.discriminatedUnion('code', [...plainSummarySchemas, earlierUnansweredSchema]);

const sendingLostSchema = z.object({
  code: z.literal('sending_lost'),
  /** The outcome of the request that the database had lost. */
  since: requestSummarySchema.exactOptional(),
});

/** The result of an item, or why it was stopped. */
export const itemSummarySchema = z.discriminatedUnion('code', [
  ...plainSummarySchemas,
  earlierUnansweredSchema,
  sendingLostSchema,
]);

export type PlainSummary = z.output<typeof plainSummarySchema>;
export type RequestSummary = z.output<typeof requestSummarySchema>;
export type ItemSummary = z.output<typeof itemSummarySchema>;

/** Why a scheduled order needs approval again. */
export const REOPEN_REASONS = [
  'late',
  'price',
  'requirements',
  'approvals',
  'budget',
  'impact',
  'incident',
] as const;
export type ReopenReason = (typeof REOPEN_REASONS)[number];

const RETRY_REASONS = [
  'busy',
  'no_answer',
  'no_answer_harmless',
  'not_reached',
  'not_sendable',
  'session_ended',
  'token_used',
] as const;

export type RetryReason = (typeof RETRY_REASONS)[number];

export const retryReasonSchema = z.object({ code: z.enum(RETRY_REASONS) });
