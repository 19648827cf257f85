"""Publication flooding (section 4.2.1 and figure 9 of the top-k/w paper): subscriptions stay where they are."""

from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import PUBLISHING, Publication
from skyband.overlay.strategy.along_tree import TreeStrategy


class PublicationFlooding(TreeStrategy):
    """Every publication goes to every broker, to the neighbours first and then to the subscriptions there."""

    name = "publication-flooding"
    filters = False
    exact = True
    column = PUBLISHING

    def subscribed(self, asked: RoutedSubscription) -> None:
        """Local; what is held here is what is live."""
        self.broker.intake.begin(asked)
        for publication in list(self.retainer.publications()):
            self.broker.intake.arrive(publication)

    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """Local."""
        self.broker.intake.end(asked.id)

    def spread(self, publication: Publication, source: int) -> None:
        """Pass a publication on to all neighbours but the one it came from, once; and once more if it is retracted."""
        if self.retainer.offer(publication, self.broker.now, source):
            held = self.retainer.held[publication.key]
            for target in (*self.neighbours, self.number):
                if target != source:
                    held.sent.add(target)
                    self.emit(target, publication, "")

    def opened(self, peer: int) -> None:
        """A neighbour starts anew: send it all that is held and did not come from it in this life."""
        super().opened(peer)
        if peer in self.neighbours:
            for held in self.retainer.held.values():
                self.emit(peer, held.publication, "")
            self.say()
