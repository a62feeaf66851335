import { textMessage } from '../kit/blocks.ts';

/* What people are told of a delivery as such: who may use the bot, and how long it takes. */

export const SLOW = textMessage('This takes longer than usual. I am still at it and will answer here.');

/** Said when the delivery was acknowledged late and the handler itself says nothing. */
export const DONE = textMessage('Done.');

/** Said to people of other workspaces. */
export const NOT_A_MEMBER = textMessage(
  'Only members of this workspace can use Domain Steward. Ask somebody here to do it for you.',
);

/** The same where the other workspaces of the organisation are let in. */
export const NOT_OF_THE_ORGANISATION = textMessage(
  'Only members of this organisation can use Domain Steward, and guests are none. Ask somebody here to do it for you.',
);
