-- CreateTable
CREATE TABLE "token_steps" (
    "login" TEXT NOT NULL,
    "step" INTEGER NOT NULL,

    CONSTRAINT "token_steps_pkey" PRIMARY KEY ("login")
);
