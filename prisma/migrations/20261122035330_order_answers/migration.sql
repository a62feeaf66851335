-- CreateTable
CREATE TABLE "order_answers" (
    "order_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "version" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "answer" JSON NOT NULL,

    CONSTRAINT "order_answers_pkey" PRIMARY KEY ("order_id","n","version")
);

-- AddForeignKey
ALTER TABLE "order_answers" ADD CONSTRAINT "order_answers_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE CASCADE ON UPDATE CASCADE;
