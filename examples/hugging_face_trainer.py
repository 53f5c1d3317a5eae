"""A fairret in the Trainer of Hugging Face, for text classification.

    python examples/hugging_face_trainer.py [--strength X]

Every example of the dataset has a column `sens` beside `input_ids` and `labels`. The
loss reads it from the batch, and the model never sees it. The texts are invented
references: words of skill depend on the label, and hobbies on the group. Needs
`pip install transformers accelerate`.
"""

import argparse
import tempfile

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    EvalPrediction,
    Trainer,
    TrainingArguments,
    set_seed,
)

from fairret.loss import SmoothMaxLoss
from fairret.metric import Parity

WORDS = ["[pad]", "careful", "prompt", "exact", "late", "careless", "vague"]
WORDS += ["chess", "rowing", "ballet", "choir"]


def write_references(n: int) -> list[dict[str, Tensor]]:
    """Draw people of two groups, whose labels differ, with a text of eight words."""
    group = torch.randint(2, (n,))
    label = (torch.rand(n) < 0.3 + 0.3 * group).long()
    skilled = torch.rand(n, 4) < 0.3 + 0.4 * label[:, None]
    skill = torch.randint(1, 4, (n, 4)) + 3 * ~skilled
    hobby = torch.randint(7, 9, (n, 4)) + 2 * (1 - group[:, None])
    words = torch.cat((skill, hobby), 1)
    sens = F.one_hot(group, 2).float()
    return [
        {"input_ids": words[i], "labels": label[i], "sens": sens[i]} for i in range(n)
    ]


class FairretTrainer(Trainer):
    """Adds a fairret to the model's own loss."""

    fairret, strength = SmoothMaxLoss("pr", sharpness=5), 0.0

    def compute_loss(self, model, inputs, return_outputs=False, **_: object):
        """Take `sens` out of the batch, and add the term."""
        inputs = dict(inputs)
        sens = inputs.pop("sens")
        outputs = model(**inputs)
        logit = outputs.logits[:, 1] - outputs.logits[:, 0]  # of the positive class
        term = self.fairret(logit, sens, inputs["labels"])
        loss = outputs.loss + self.strength * term
        return (loss, outputs) if return_outputs else loss


def measure(found: EvalPrediction) -> dict[str, float]:
    """Compute accuracy and the largest violation of decisions."""
    label, sens = (torch.tensor(x) for x in found.label_ids)
    decision = torch.tensor(found.predictions).argmax(1)
    parity = Parity("pr", d_s=sens.shape[1], threshold=0.5)
    parity.update(decision, sens, label)
    return {
        "accuracy": float((decision == label).double().mean()),
        "violation": float(parity.compute().decisions.max_violation),
    }


def train(strength: float, epochs: int = 5, rows: int = 2000) -> dict[str, float]:
    """Train a tiny model on new references, and evaluate it on others."""
    set_seed(0)
    config = DistilBertConfig(
        vocab_size=len(WORDS), dim=32, hidden_dim=64, n_layers=1, n_heads=2
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=128,
            per_device_eval_batch_size=1024,
            learning_rate=5e-3,
            remove_unused_columns=False,  # keeps `sens` in the batch
            label_names=["labels", "sens"],  # hands both to `measure`
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
        )
        trainer = FairretTrainer(
            DistilBertForSequenceClassification(config),
            arguments,
            train_dataset=write_references(rows),
            eval_dataset=write_references(rows),
            compute_metrics=measure,
        )
        trainer.strength = strength
        trainer.train()
        return trainer.evaluate()


def main() -> None:
    """Train without and with the term."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strength", type=float, default=0.2)
    for strength in (0.0, parser.parse_args().strength):
        found = train(strength)
        accuracy, violation = found["eval_accuracy"], found["eval_violation"]
        print(f"strength {strength}: {accuracy=:.3f}, {violation=:.3f}")


if __name__ == "__main__":
    main()
