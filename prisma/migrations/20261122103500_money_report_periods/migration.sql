-- A report is of a month or of a day.
ALTER TABLE "money_reports" RENAME COLUMN "month" TO "period";
