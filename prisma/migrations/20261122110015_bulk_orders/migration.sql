-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "bulk" JSONB;

-- AlterTable
ALTER TABLE "order_items" ADD COLUMN     "input" JSONB,
ADD COLUMN     "sealed_input" BYTEA,
ADD COLUMN     "sealed_input_key_id" TEXT;
